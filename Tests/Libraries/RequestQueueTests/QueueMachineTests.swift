import Foundation
import Testing

@testable import RequestQueue

/// The decisions of the queue, one input after the other.
@Suite struct QueueMachineTests {
    typealias Machine = QueueMachine

    static func job(
        _ host: String = "a", method: HTTPMethod = .get, priority: Priority = .normal, retry: RetryRule = .standard,
        timeouts: Timeouts = Timeouts()
    ) throws -> Machine.Job {
        Machine.Job(
            url: try #require(URL(string: "https://\(host).example/")), method: method, hasBody: method == .post,
            priority: priority, retry: retry, redirect: .standard, timeouts: timeouts)
    }

    private func machine(_ limits: QueueLimits = QueueLimits()) -> Machine { Machine(limits: limits, seed: 1) }

    private let network = Machine.Failure(kind: .network, error: RequestError(.connectionLost, message: "lost"))
    private let ok = Machine.Answer(status: 200)

    /// Returns the requests that an input started.
    private func started(_ actions: [Machine.Action]) -> [Machine.ID] {
        actions.compactMap { if case .start(let id, _) = $0 { id } else { nil } }
    }

    @Test func `Hosts take turns, priorities go first, and limits hold`() throws {
        var machine = machine(QueueLimits(maxRunning: 2, maxRunningPerHost: 1))
        #expect(machine.submitted(1, job: try Self.job("a"), now: .zero) == [.start(1, attempt: 1)])
        #expect(machine.submitted(2, job: try Self.job("a"), now: .zero).isEmpty)
        #expect(machine.submitted(3, job: try Self.job("a"), now: .zero).isEmpty)
        #expect(machine.submitted(4, job: try Self.job("b"), now: .zero) == [.start(4, attempt: 1)])
        #expect(machine.submitted(5, job: try Self.job("b"), now: .zero).isEmpty)
        #expect(machine.submitted(6, job: try Self.job("b", priority: .high), now: .zero).isEmpty)
        #expect(machine.submitted(7, job: try Self.job("c", priority: .low), now: .zero).isEmpty)
        // The place of host a goes to host a, because host b has none left, and before the lower priority of host c.
        #expect(machine.answered(1, attempt: 1, answer: ok, now: .zero) == [.deliver(1), .start(2, attempt: 1)])
        #expect(machine.answered(4, attempt: 1, answer: ok, now: .zero) == [.deliver(4), .start(6, attempt: 1)])
        #expect(started(machine.answered(2, attempt: 1, answer: ok, now: .zero)) == [3])
        #expect(started(machine.answered(6, attempt: 1, answer: ok, now: .zero)) == [5])
        #expect(started(machine.answered(5, attempt: 1, answer: ok, now: .zero)) == [7])
        #expect(machine.running == 2 && machine.pendingCount == 0)
    }

    @Test func `A flood for one host does not delay another host`() throws {
        var machine = machine(QueueLimits(maxRunning: 1))
        for id in 1...100 { _ = machine.submitted(UInt64(id), job: try Self.job("flood"), now: .zero) }
        _ = machine.submitted(200, job: try Self.job("quiet"), now: .zero)
        // One request was under way before; the quiet host is next or next but one.
        let first = started(machine.answered(1, attempt: 1, answer: ok, now: .zero))
        let second = started(machine.answered(try #require(first.first), attempt: 1, answer: ok, now: .zero))
        #expect((first + second).contains(200))
    }

    @Test func `A failed attempt pauses longer each time, and ends after the last`() throws {
        var machine = machine()
        _ = machine.submitted(
            1, job: try Self.job(retry: RetryRule(maxAttempts: 3, firstPause: .seconds(1))), now: .zero)
        #expect(machine.failed(1, attempt: 1, failure: network, now: .zero).isEmpty)
        let pause = try #require(machine.nextTime)
        #expect(pause >= .milliseconds(500) && pause <= .seconds(1))
        #expect(machine.elapsed(now: pause - .nanoseconds(1)).isEmpty)
        #expect(machine.elapsed(now: pause) == [.start(1, attempt: 2)])
        #expect(machine.failed(1, attempt: 2, failure: network, now: pause).isEmpty)
        let next = try #require(machine.nextTime)
        #expect(next - pause >= .seconds(1) && next - pause <= .seconds(2))
        #expect(machine.elapsed(now: next) == [.start(1, attempt: 3)])
        #expect(machine.failed(1, attempt: 3, failure: network, now: next) == [.fail(1, network.error)])
        #expect(machine.nextTime == nil && machine.running == 0)
    }

    @Test func `Retry-After is waited for, within its limit`() throws {
        var machine = machine()
        for (id, seconds, retries) in [(1, 200, true), (2, 400, false)] as [(UInt64, Int, Bool)] {
            _ = machine.submitted(id, job: try Self.job(), now: .zero)
            let answer = Machine.Answer(status: 429, retryAfter: .seconds(seconds))
            let actions = machine.answered(id, attempt: 1, answer: answer, now: .seconds(5))
            #expect(actions == (retries ? [] : [.deliver(id)]))
            if retries {
                #expect(machine.nextTime == .seconds(205))
                #expect(machine.elapsed(now: .seconds(205)) == [.start(id, attempt: 2)])
            }
        }
    }

    @Test(arguments: [HTTPMethod.post, .patch]) func `Unsafe methods are repeated only if they were not sent`(
        _ method: HTTPMethod
    ) throws {
        var machine = machine()
        _ = machine.submitted(1, job: try Self.job(method: method), now: .zero)
        #expect(machine.failed(1, attempt: 1, failure: network, now: .zero) == [.fail(1, network.error)])
        let unsent = Machine.Failure(kind: .unsent, error: RequestError(.cannotConnect, message: "refused"))
        _ = machine.submitted(2, job: try Self.job(method: method), now: .zero)
        #expect(machine.failed(2, attempt: 1, failure: unsent, now: .zero).isEmpty)
        _ = machine.submitted(3, job: try Self.job(method: method), now: .zero)
        #expect(machine.answered(3, attempt: 1, answer: Machine.Answer(status: 503), now: .zero) == [.deliver(3)])
    }

    @Test func `A host that always fails uses up its retries, and others have theirs`() throws {
        var machine = machine()
        var retries = 0
        for id in UInt64(1)...100 {
            _ = machine.submitted(id, job: try Self.job("bad"), now: .zero)
            if machine.failed(id, attempt: 1, failure: network, now: .zero).isEmpty {
                retries += 1
                _ = machine.cancelled(id, now: .zero)
            }
        }
        #expect((15...20).contains(retries), "\(retries)")
        _ = machine.submitted(200, job: try Self.job("good"), now: .zero)
        #expect(machine.failed(200, attempt: 1, failure: network, now: .zero).isEmpty)
    }

    @Test func `A full wait list rejects the new, or drops the least urgent`() throws {
        var strict = machine(QueueLimits(maxRunning: 1, maxWaiting: 2))
        var loose = machine(QueueLimits(maxRunning: 1, maxWaiting: 2, overflow: .dropLowest))
        for id in UInt64(1)...3 {
            _ = strict.submitted(id, job: try Self.job(priority: .low), now: .zero)
            _ = loose.submitted(id, job: try Self.job(priority: .low), now: .zero)
        }
        func failed(_ actions: [Machine.Action]) -> [Machine.ID] {
            actions.compactMap { if case .fail(let id, let error) = $0, error.code == .queueFull { id } else { nil } }
        }
        #expect(failed(strict.submitted(4, job: try Self.job(priority: .high), now: .zero)) == [4])
        #expect(failed(loose.submitted(4, job: try Self.job(priority: .high), now: .zero)) == [3])
        #expect(failed(loose.submitted(5, job: try Self.job(priority: .low), now: .zero)) == [5])
        #expect(loose.pendingCount == 2)
    }

    @Test func `The least urgent may also be one that waits for its next attempt`() throws {
        var machine = machine(QueueLimits(maxRunning: 2, maxWaiting: 3, overflow: .dropLowest))
        for (id, priority) in [(1, .low), (2, .normal), (3, .low)] as [(UInt64, Priority)] {
            _ = machine.submitted(id, job: try Self.job(priority: priority), now: .zero)
            #expect(machine.failed(id, attempt: 1, failure: network, now: .zero).isEmpty)
        }
        #expect(machine.pendingCount == 3)
        func failed(_ actions: [Machine.Action]) -> [Machine.ID] {
            actions.compactMap { if case .fail(let id, let error) = $0, error.code == .queueFull { id } else { nil } }
        }
        #expect(failed(machine.submitted(4, job: try Self.job(priority: .low), now: .zero)) == [4])
        // The newest of the lowest priority goes first.
        let actions = machine.submitted(5, job: try Self.job("b", priority: .high), now: .zero)
        #expect(failed(actions) == [3] && started(actions) == [5])
        #expect(started(machine.submitted(6, job: try Self.job("b", priority: .high), now: .zero)) == [6])
        _ = machine.submitted(7, job: try Self.job("b", priority: .normal), now: .zero)
        #expect(failed(machine.submitted(8, job: try Self.job("b", priority: .high), now: .zero)) == [1])
        // Of the same priority, one that has not started goes first.
        #expect(failed(machine.submitted(9, job: try Self.job("b", priority: .high), now: .zero)) == [7])
        #expect(failed(machine.submitted(10, job: try Self.job("b", priority: .high), now: .zero)) == [2])
        #expect(failed(machine.submitted(11, job: try Self.job("b", priority: .high), now: .zero)) == [11])
        #expect(machine.pendingCount == 3 && machine.elapsed(now: .seconds(59)).isEmpty)
    }

    @Test func `Attempts count across redirects`() throws {
        var machine = machine()
        let job = try Self.job(retry: RetryRule(maxAttempts: 3))
        _ = machine.submitted(1, job: job, now: .zero)
        #expect(machine.failed(1, attempt: 1, failure: network, now: .zero).isEmpty)
        #expect(started(machine.elapsed(now: .seconds(100))) == [1])
        let redirect = Machine.Answer(status: 302, location: "https://b.example/")
        #expect(started(machine.answered(1, attempt: 2, answer: redirect, now: .seconds(100))) == [1])
        #expect(machine.failed(1, attempt: 3, failure: network, now: .seconds(100)).isEmpty)
        #expect(started(machine.elapsed(now: .seconds(200))) == [1])
        // The third failure of three attempts, besides that which led to the other host.
        let end = machine.failed(1, attempt: 4, failure: network, now: .seconds(200))
        #expect(end == [.fail(1, network.error)])
    }

    @Test func `A silent transfer is stopped, keeps its place until it ends, and is retried`() throws {
        var machine = machine(QueueLimits(maxRunning: 1))
        _ = machine.submitted(1, job: try Self.job(), now: .zero)
        _ = machine.submitted(2, job: try Self.job(), now: .zero)
        machine.heard(1, attempt: 1, at: .seconds(10))
        #expect(machine.elapsed(now: .seconds(60)).isEmpty)
        #expect(machine.elapsed(now: .seconds(70)) == [.stop(1, attempt: 1)])
        #expect(machine.running == 1)
        #expect(machine.failed(1, attempt: 1, failure: network, now: .seconds(71)) == [.start(2, attempt: 1)])
        #expect(machine.entries[1]?.failures == 1)
    }

    @Test func `A stopped transfer whose end is never reported gives its place back`() throws {
        var machine = machine(QueueLimits(maxRunning: 1))
        _ = machine.submitted(1, job: try Self.job(), now: .zero)
        _ = machine.submitted(2, job: try Self.job(), now: .zero)
        let actions = machine.cancelled(1, now: .zero)
        #expect(actions.first == .stop(1, attempt: 1) && actions.count == 2)
        #expect(machine.cancelled(1, now: .zero).isEmpty)
        #expect(machine.elapsed(now: Machine.stopTime) == [.start(2, attempt: 1)])
        // The end that comes too late, and one of another attempt, have no effect.
        #expect(machine.answered(1, attempt: 1, answer: ok, now: .zero).isEmpty)
        #expect(machine.answered(2, attempt: 9, answer: ok, now: .zero).isEmpty)
    }

    @Test func `The total limit counts waiting and pausing`() throws {
        var machine = machine(QueueLimits(maxRunning: 1))
        let limit = Timeouts(total: .seconds(5))
        _ = machine.submitted(1, job: try Self.job(), now: .zero)
        _ = machine.submitted(2, job: try Self.job(timeouts: limit), now: .zero)
        #expect(machine.nextTime == .seconds(5))
        guard case .fail(2, let error) = machine.elapsed(now: .seconds(5)).first else {
            Issue.record("the request goes on waiting")
            return
        }
        #expect(error.code == .timedOut && machine.nextTime == .seconds(60))
    }

    @Test func `Limits below one count as one`() throws {
        var limits = QueueLimits()
        limits.maxRunning = 0
        limits.maxRunningPerHost = -1
        var machine = machine(limits)
        #expect(machine.submitted(1, job: try Self.job(), now: .zero) == [.start(1, attempt: 1)])
    }

    @Test func `A redirect waits at the front of the new host`() throws {
        var machine = machine(QueueLimits(maxRunning: 1))
        _ = machine.submitted(1, job: try Self.job("a"), now: .zero)
        _ = machine.submitted(2, job: try Self.job("b"), now: .zero)
        let answer = Machine.Answer(status: 302, location: "https://b.example/x")
        let actions = machine.answered(1, attempt: 1, answer: answer, now: .zero)
        guard case .redirect(1, let step) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(step.dropsCredentials && actions.last == .start(1, attempt: 2))
    }
}
