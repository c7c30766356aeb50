import PushTime
import TestSupport
import Testing

@testable import CarillonClient

@Suite struct ProducerMachineTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func machine(_ change: (inout ProducerSettings) -> Void = { _ in }) -> ProducerMachine {
        var settings = ProducerSettings()
        change(&settings)
        var machine = ProducerMachine(settings)
        machine.connected(now: Self.start)
        return machine
    }

    private func request(_ id: String, app: String = "shop") throws -> EncodedRequest {
        try EncodedRequest(Push(id: id, app: app, to: .user("ada"), alert: "Hello"))
    }

    private func submit(
        _ ids: [String], app: String = "shop", from first: UInt64 = 1, to machine: inout ProducerMachine,
        deadline: Duration = .seconds(30)
    ) throws {
        for (index, id) in ids.enumerated() {
            let error = machine.submit(
                try request(id, app: app), ticket: Ticket(number: first + UInt64(index)),
                deadline: Self.start + deadline,
                now: Self.start)
            #expect(error == nil)
        }
    }

    private func ack(_ id: String, _ verdict: AckStatus.Verdict = .accepted(7, [])) -> AckStatus {
        AckStatus(key: IDKey(id), verdict: verdict)
    }

    @Test func `One waiting request goes alone, many go as a batch`() throws {
        var machine = machine()
        try submit(["a"], to: &machine)
        #expect(machine.next(now: Self.start)?.tickets == [Ticket(number: 1)])
        try submit(["b", "c", "d"], from: 2, to: &machine)
        #expect(machine.next(now: Self.start)?.tickets.count == 3)
        #expect(machine.next(now: Self.start) == nil)
    }

    @Test func `The window holds back requests, and an ack lets the next one go`() throws {
        var machine = machine { $0.window = 2 }
        try submit(["a", "b", "c"], to: &machine)
        #expect(machine.next(now: Self.start)?.tickets.count == 2)
        #expect(machine.next(now: Self.start) == nil)
        #expect(machine.receive(ack("b"), now: Self.start)?.0 == Ticket(number: 2))
        #expect(machine.next(now: Self.start)?.tickets == [Ticket(number: 3)])
    }

    @Test func `A bounded number of requests waits`() throws {
        var machine = machine {
            $0.window = 1
            $0.maxWaiting = 2
        }
        try submit(["a", "b", "c"], to: &machine)
        let error = machine.submit(
            try request("d"), ticket: Ticket(number: 9), deadline: Self.start + .seconds(1), now: Self.start)
        #expect(error == .busy(retryAfter: .milliseconds(250)))
    }

    @Test func `A lost connection sends everything again, in order`() throws {
        var machine = machine { $0.maxBatch = 1 }
        try submit(["a", "b", "c"], to: &machine)
        _ = machine.next(now: Self.start)
        _ = machine.next(now: Self.start)
        machine.disconnected(problem: "gone")
        #expect(machine.next(now: Self.start) == nil)
        machine.connected(now: Self.start)
        #expect((0..<3).compactMap { _ in machine.next(now: Self.start)?.tickets.first?.number } == [1, 2, 3])
    }

    @Test func `A busy app waits, and another app does not`() throws {
        var machine = machine()
        try submit(["a"], to: &machine)
        _ = machine.next(now: Self.start)
        #expect(machine.receive(ack("a", .busy(.milliseconds(500))), now: Self.start) == nil)
        #expect(machine.next(now: Self.start + .milliseconds(499)) == nil)
        try submit(["b"], app: "news", from: 2, to: &machine)
        #expect(machine.next(now: Self.start + .milliseconds(499))?.tickets == [Ticket(number: 2)])
        #expect(machine.next(now: Self.start + .milliseconds(500))?.tickets == [Ticket(number: 1)])
    }

    @Test func `At the deadline the error says whether the message may have been accepted`() throws {
        var machine = ProducerMachine(ProducerSettings())
        try submit(["never sent"], to: &machine, deadline: .seconds(1))
        let unsent = machine.expire(now: Self.start + .seconds(2)).ended
        #expect(unsent.map { $0.1 } == [.failed(.unavailable("no connection yet"))])

        machine.connected(now: Self.start)
        try submit(["sent"], from: 2, to: &machine, deadline: .seconds(3))
        _ = machine.next(now: Self.start)
        machine.disconnected(problem: "gone")
        let sent = machine.expire(now: Self.start + .seconds(4)).ended
        #expect(sent.map { $0.1 } == [.failed(.unknown("gone"))])

        machine.connected(now: Self.start)
        try submit(["busy"], from: 3, to: &machine, deadline: .seconds(5))
        _ = machine.next(now: Self.start)
        _ = machine.receive(ack("busy", .busy(.seconds(9))), now: Self.start)
        let busy = machine.expire(now: Self.start + .seconds(6)).ended
        #expect(busy.map { $0.1 } == [.failed(.busy(retryAfter: .seconds(9)))])
    }

    @Test func `A connection without any ack is silent; with one, only the late request is sent again`() throws {
        var machine = machine()
        try submit(["a"], to: &machine)
        _ = machine.next(now: Self.start)
        #expect(machine.expire(now: Self.start + .milliseconds(4_999)).isSilent == false)
        #expect(machine.expire(now: Self.start + .milliseconds(5_100)).isSilent)

        var other = self.machine { $0.maxBatch = 1 }
        try submit(["a", "b"], to: &other)
        _ = other.next(now: Self.start)
        _ = other.next(now: Self.start)
        _ = other.receive(ack("b"), now: Self.start + .seconds(1))
        #expect(other.expire(now: Self.start + .seconds(6)).isSilent == false)
        #expect(other.next(now: Self.start + .seconds(6))?.tickets == [Ticket(number: 1)])
    }

    @Test func `Requests with the same id go one after the other`() throws {
        var machine = machine()
        try submit(["a", "a"], to: &machine)
        #expect(machine.next(now: Self.start)?.tickets == [Ticket(number: 1)])
        #expect(machine.next(now: Self.start) == nil)
        #expect(machine.receive(ack("a"), now: Self.start)?.0 == Ticket(number: 1))
        #expect(machine.next(now: Self.start)?.tickets == [Ticket(number: 2)])
        #expect(machine.receive(ack("a", .duplicate(7, [])), now: Self.start)?.0 == Ticket(number: 2))
    }

    @Test func `A cancelled request that waits is not sent, and one that was sent is in doubt`() throws {
        var machine = machine { $0.window = 1 }
        try submit(["a", "b"], to: &machine)
        _ = machine.next(now: Self.start)
        #expect(machine.cancel(Ticket(number: 2), now: Self.start) == .failed(.cancelled(inDoubt: false)))
        #expect(machine.cancel(Ticket(number: 1), now: Self.start) == .failed(.cancelled(inDoubt: true)))
        #expect(machine.next(now: Self.start) == nil && machine.isIdle)
        #expect(machine.receive(ack("a"), now: Self.start) == nil)
    }

    @Test func `A late ack of a push does not answer the cancellation of its message`() throws {
        var machine = machine()
        let cancel = try EncodedRequest(cancel: "a", app: "shop")
        #expect(machine.submit(cancel, ticket: Ticket(number: 1), deadline: .distantFuture, now: Self.start) == nil)
        _ = machine.next(now: Self.start)
        #expect(machine.receive(ack("a"), now: Self.start) == nil)
        #expect(machine.receive(ack("a", .tooLate), now: Self.start)?.1 == .answered(.tooLate))
    }

    @Test func `Cancelled requests of a paused app leave nothing behind`() throws {
        var machine = machine()
        try submit(["a"], to: &machine)
        _ = machine.next(now: Self.start)
        _ = machine.receive(ack("a", .busy(.seconds(60))), now: Self.start)
        for number in UInt64(10)..<20_000 {
            try submit(["x\(number)"], from: number, to: &machine)
            _ = machine.cancel(Ticket(number: number), now: Self.start)
        }
        #expect(machine.items.count == 1)
        #expect(machine.lanes[IDKey("shop").hash].map { $0.waiting } == 1)
        #expect(machine.lanes[IDKey("shop").hash].map { $0.length < 300 } == true)
    }
}
