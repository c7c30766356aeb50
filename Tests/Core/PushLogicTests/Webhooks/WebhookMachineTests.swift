import PushLogic
import PushTime
import Testing

@Suite("The machine of a webhook")
struct WebhookMachineTests {
    private let start = MonotonicTime(nanoseconds: 0)
    private let first = WebhookBatch(id: "a", after: 10, through: 14, digest: [1])

    /// A machine whose batch is stored and has a request under way.
    private func sending() -> WebhookMachine {
        var machine = WebhookMachine(WebhookRecord(after: 10))
        #expect(machine.next(now: start) == .read(after: 10))
        #expect(machine.found(first) == true)
        var record = WebhookRecord(after: 10)
        record.batch = first
        #expect(machine.next(now: start) == .store(record))
        #expect(machine.next(now: start) == .rest)
        machine.stored()
        #expect(machine.next(now: start) == .send(first))
        return machine
    }

    /// Fails the request that is under way, and returns the pause before the next one, which is then under way.
    private func fail(_ machine: inout WebhookMachine, now: MonotonicTime, random: Double = 0) -> Duration {
        guard case .retry(let time) = machine.answered(500, retryAfter: nil, now: now, random: random) else {
            Issue.record("a failed request is not sent again")
            return .zero
        }
        #expect(machine.next(now: now) == .wait(until: time))
        #expect(machine.next(now: time) == machine.record.batch.map { .send($0) })
        return time - now
    }

    @Test("A batch is stored before it is sent, with the success of the one before", arguments: [200, 204, 299])
    func delivery(status: Int) {
        var machine = sending()
        #expect(machine.answered(status, retryAfter: nil, now: start, random: 0) == .delivered)
        #expect(machine.next(now: start) == .read(after: 14))
        let second = WebhookBatch(id: "b", after: 14, through: 20, digest: [2])
        #expect(machine.found(second) == true)
        var record = WebhookRecord(after: 14)
        record.batch = second
        #expect(machine.next(now: start) == .store(record))
        machine.stored()
        #expect(machine.next(now: start) == .send(second))
    }

    @Test("A success after which nothing is sent is stored at once", arguments: [true, false])
    func lastDelivery(isRead: Bool) {
        var machine = sending()
        #expect(machine.answered(200, retryAfter: nil, now: start, random: 0) == .delivered)
        #expect(machine.next(now: start) == .read(after: 14))
        if isRead { machine.examined(through: 14, isEnd: true, now: start) } else { machine.readFailed(now: start) }
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 14)))
        machine.stored()
        #expect(machine.next(now: start) == (isRead ? .listen(after: 14) : .wait(until: start + .seconds(1))))
    }

    @Test("Failures double the pause up to an hour, and send the same batch", arguments: [199, 301, 404, 500])
    func backoff(status: Int) {
        var machine = sending()
        var now = start
        for failure in 0..<20 {
            // The first failure after a success costs little.
            let pause = failure == 0 ? Duration.milliseconds(50) : .seconds(min(3600, 1 << (failure - 1)))
            #expect(machine.answered(status, retryAfter: nil, now: now, random: 0) == .retry(at: now + pause))
            #expect(machine.next(now: now) == .wait(until: now + pause))
            now = now + pause
            #expect(machine.next(now: now) == .send(first))
        }
        #expect(machine.failures == 20)
    }

    @Test("A failure between successes costs a short pause only")
    func singleFailures() {
        var machine = sending()
        for random in [0, 0.5, 0.999] {
            #expect(
                (Duration.milliseconds(25)...Duration.milliseconds(50)).contains(
                    fail(&machine, now: start, random: random)))
            #expect(machine.answered(200, retryAfter: nil, now: start, random: 0) == .delivered)
            let position = machine.record.position
            #expect(machine.next(now: start) == .read(after: position))
            let next = WebhookBatch(id: "b\(position)", after: position, through: position + 5, digest: [])
            #expect(machine.found(next) == true)
            guard case .store = machine.next(now: start) else { return #expect(Bool(false), "not stored") }
            machine.stored()
            #expect(machine.next(now: start) == .send(next))
        }
    }

    @Test("A receiver that is down gets few requests, whatever the jitter", arguments: [0, 0.5, 0.999])
    func down(random: Double) {
        var machine = sending()
        var now = start
        var requests = 0
        while now < start + .seconds(60) {
            requests += 1
            now = now + fail(&machine, now: now, random: random)
        }
        #expect((7...8).contains(requests))
        while now < start + .seconds(24 * 3600) {
            requests += 1
            now = now + fail(&machine, now: now, random: random)
        }
        #expect(requests < 70)
    }

    @Test("Who answers 429 is not asked again within a second")
    func tooManyRequests() {
        var machine = sending()
        let second = start + .seconds(1)
        #expect(machine.answered(429, retryAfter: nil, now: start, random: 0.5) == .retry(at: second))
        #expect(machine.next(now: second) == .send(first))
        let asked = machine.answered(429, retryAfter: .seconds(3), now: second, random: 0)
        #expect(asked == .retry(at: second + .seconds(3)))
    }

    @Test("Retry-After makes the pause longer, never shorter and never longer than an hour")
    func retryAfter() {
        var machine = sending()
        #expect(
            machine.answered(503, retryAfter: .seconds(30), now: start, random: 0) == .retry(at: start + .seconds(30)))
        #expect(machine.next(now: start + .seconds(30)) == .send(first))
        #expect(
            machine.answered(503, retryAfter: .zero, now: start, random: 0) == .retry(at: start + .seconds(1)))
        #expect(machine.next(now: start + .seconds(1)) == .send(first))
        #expect(
            machine.answered(503, retryAfter: .seconds(99_999), now: start, random: 0)
                == .retry(at: start + .seconds(3600)))
    }

    @Test("410 disables it across restarts, until it is resumed with the same batch")
    func gone() {
        var machine = sending()
        #expect(machine.answered(410, retryAfter: nil, now: start, random: 0) == .disabled)
        guard case .store(let record) = machine.next(now: start) else { return #expect(Bool(false), "not stored") }
        #expect(record.standing == .disabled)
        machine.stored()
        #expect(machine.next(now: start) == .rest)
        var restarted = WebhookMachine(record)
        #expect(restarted.next(now: start) == .rest)
        #expect(restarted.resume() == true)
        _ = restarted.next(now: start)
        restarted.stored()
        #expect(restarted.next(now: start) == .rebuild(first))
        restarted.rebuilt([1])
        #expect(restarted.next(now: start) == .send(first))
    }

    @Test("A batch whose body has become another one loses its id")
    func otherBody() {
        var record = WebhookRecord(after: 10)
        record.batch = first
        var machine = WebhookMachine(record)
        #expect(machine.next(now: start) == .rebuild(first))
        machine.rebuilt([2])
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 10)))
        machine.stored()
        #expect(machine.next(now: start) == .read(after: 10))
    }

    @Test("A pause during a request takes its result, and sends nothing more")
    func pause() {
        var machine = sending()
        #expect(machine.pause() == true)
        #expect(machine.pause() == false)
        #expect(machine.answered(200, retryAfter: nil, now: start, random: 0) == .delivered)
        guard case .store(let record) = machine.next(now: start) else { return #expect(Bool(false), "not stored") }
        #expect(record.position == 14)
        #expect(record.standing == .paused)
        machine.stored()
        #expect(machine.next(now: start) == .rest)
    }

    @Test("The result of a request does not count after a seek")
    func seek() {
        var machine = sending()
        machine.seek(to: 3)
        #expect(machine.answered(200, retryAfter: nil, now: start, random: 0) == .overtaken)
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 3)))
        machine.stored()
        #expect(machine.next(now: start) == .read(after: 3))
        machine.seek(to: 5)
        #expect(machine.found(WebhookBatch(id: "b", after: 3, through: 4, digest: [])) == false)
    }

    @Test("With other prefixes, the body of a batch is made again, and its id stays only with the same body")
    func otherPrefixes() {
        for (digest, isSame) in [([1], true), ([2], false)] as [([UInt8], Bool)] {
            var machine = sending()
            machine.prefixesChanged()
            let later = start + .milliseconds(50)
            #expect(machine.answered(500, retryAfter: nil, now: start, random: 0) == .retry(at: later))
            #expect(machine.next(now: later) == .rebuild(first))
            machine.rebuilt(digest)
            #expect(machine.next(now: later) == (isSame ? .send(first) : .store(WebhookRecord(after: 10))))
        }
        var machine = sending()
        machine.prefixesChanged()
        #expect(machine.answered(200, retryAfter: nil, now: start, random: 0) == .delivered)
        #expect(machine.next(now: start) == .read(after: 14))
    }

    @Test("What is read with earlier prefixes does not count")
    func readWithEarlierPrefixes() {
        var machine = WebhookMachine(WebhookRecord(after: 10))
        #expect(machine.next(now: start) == .read(after: 10))
        machine.prefixesChanged()
        #expect(machine.found(first) == false)
        #expect(machine.next(now: start) == .read(after: 10))
        machine.prefixesChanged()
        machine.examined(through: 20, isEnd: true, now: start)
        #expect(machine.next(now: start) == .read(after: 10))
        #expect(machine.found(first) == true)

        var record = WebhookRecord(after: 10)
        record.batch = first
        machine = WebhookMachine(record)
        #expect(machine.next(now: start) == .rebuild(first))
        machine.prefixesChanged()
        machine.rebuilt([1])
        #expect(machine.next(now: start) == .rebuild(first))
        machine.rebuilt([2])
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 10)))
    }

    @Test("What an earlier address answers does not count", arguments: [200, 410, 500, nil])
    func otherAddress(status: Int?) {
        var machine = sending()
        machine.addressChanged()
        if let status {
            #expect(machine.answered(status, retryAfter: .seconds(3600), now: start, random: 0) == .overtaken)
        } else {
            #expect(machine.unanswered(now: start, random: 0) == .overtaken)
        }
        #expect(machine.failures == 0)
        // The same batch goes to the new one, whose answer counts.
        #expect(machine.next(now: start) == .send(first))
        #expect(machine.answered(410, retryAfter: nil, now: start, random: 0) == .disabled)
    }

    @Test("A back-off ends at once")
    func endOfBackOff() {
        var machine = sending()
        #expect(
            machine.answered(503, retryAfter: .seconds(3600), now: start, random: 0)
                == .retry(at: start + .seconds(3600)))
        machine.endBackOff()
        #expect(machine.failures == 0)
        #expect(machine.next(now: start) == .send(first))
    }

    @Test("One whose record could not be read rests until it is resumed")
    func damaged() {
        var machine = WebhookMachine(WebhookRecord(after: 0, standing: .damaged))
        #expect(machine.next(now: start) == .rest)
        #expect(machine.state(now: start) == .disabled)
        #expect(machine.pause() == false)
        #expect(machine.resume() == true)
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 0)))
        machine.stored()
        #expect(machine.next(now: start) == .read(after: 0))
    }

    @Test("A change while a record is being stored is stored, too")
    func changeDuringStore() {
        var machine = WebhookMachine(WebhookRecord(after: 10))
        machine.seek(to: 3)
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 3)))
        machine.seek(to: 4)
        machine.stored()
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 4)))
    }

    @Test("Nothing is sent while the disk refuses")
    func fullDisk() {
        var machine = WebhookMachine(WebhookRecord(after: 10))
        _ = machine.next(now: start)
        #expect(machine.found(first) == true)
        guard case .store = machine.next(now: start) else { return #expect(Bool(false), "not stored") }
        machine.storeFailed(now: start, random: 0)
        #expect(machine.next(now: start) == .wait(until: start + .seconds(1)))
        guard case .store = machine.next(now: start + .seconds(1)) else { return #expect(Bool(false), "not stored") }
    }

    @Test("Retention that has passed the position skips to the oldest event, and says how many")
    func retention() {
        var machine = WebhookMachine(WebhookRecord(after: 10))
        #expect(machine.trimmed(before: 11) == nil)
        #expect(machine.trimmed(before: 0) == nil)
        #expect(machine.trimmed(before: 15) == 4)
        #expect(machine.next(now: start) == .store(WebhookRecord(after: 14)))
    }

    @Test("A position that passes events of other topics is stored after a minute")
    func otherTopics() {
        var machine = WebhookMachine(WebhookRecord(after: 10))
        _ = machine.next(now: start)
        machine.examined(through: 50, isEnd: true, now: start)
        #expect(machine.next(now: start + .seconds(59)) == .listen(after: 50))
        #expect(machine.next(now: start + .seconds(60)) == .store(WebhookRecord(after: 50)))
        machine.stored()
        #expect(machine.next(now: start + .seconds(60)) == .listen(after: 50))
        machine.eventsCommitted()
        #expect(machine.next(now: start + .seconds(60)) == .read(after: 50))
    }
}
