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

    /// Submits "x" for the app `shop`, and lets `end` end it while `count` sendings are not answered. Then submits "x" for
    /// the app `news`, and answers the sendings one by one: only then may that one be sent.
    private func followsUnanswered(
        _ count: Int, in machine: inout ProducerMachine, end: (inout ProducerMachine) -> Void
    ) throws {
        try submit(["x"], app: "news", from: 2, to: &machine, deadline: .seconds(90))
        end(&machine)
        for number in 0..<count {
            #expect(machine.next(now: Self.start + .seconds(10)) == nil)
            let verdict = AckStatus.Verdict.duplicate(Int64(number), [])
            #expect(machine.receive(ack("x", verdict), now: Self.start + .seconds(10)) == nil)
        }
        #expect(machine.next(now: Self.start + .seconds(10))?.tickets == [Ticket(number: 2)])
        #expect(machine.receive(ack("x", .accepted(9, [])), now: Self.start)?.1 == .answered(.accepted(9, [])))
        #expect(machine.isIdle && machine.claims.isEmpty && machine.held.isEmpty)
    }

    /// Sends "x" twice: it is overdue, and the connection is not silent.
    private func sendTwice(_ machine: inout ProducerMachine) throws {
        try submit(["x", "y"], to: &machine, deadline: .seconds(12))
        _ = machine.next(now: Self.start)
        _ = machine.next(now: Self.start)
        _ = machine.receive(ack("y"), now: Self.start + .seconds(1))
        #expect(machine.expire(now: Self.start + .seconds(6)).isSilent == false)
        #expect(machine.next(now: Self.start + .seconds(6))?.tickets == [Ticket(number: 1)])
    }

    @Test func `An ack of a request that was sent twice does not answer the next one with its id`() throws {
        var machine = machine { $0.maxBatch = 1 }
        try sendTwice(&machine)
        try followsUnanswered(1, in: &machine) { machine in
            #expect(machine.receive(ack("x"), now: Self.start + .seconds(7))?.0 == Ticket(number: 1))
        }
    }

    @Test func `An ack that comes after a cancellation or the deadline does not answer the next one`() throws {
        for count in 1...2 {
            for isCancelled in [false, true] {
                var machine = machine { $0.maxBatch = 1 }
                if count == 2 {
                    try sendTwice(&machine)
                } else {
                    try submit(["x"], to: &machine, deadline: .seconds(12))
                    _ = machine.next(now: Self.start + .seconds(10))
                }
                try followsUnanswered(count, in: &machine) { machine in
                    if isCancelled {
                        #expect(machine.cancel(Ticket(number: 1), now: Self.start) != nil)
                    } else {
                        let (ended, isSilent) = machine.expire(now: Self.start + .seconds(13))
                        #expect(ended.map { $0.0 } == [Ticket(number: 1)] && !isSilent)
                    }
                }
            }
        }
    }

    @Test func `An ack of what was not sent on this connection ends nothing`() throws {
        var machine = machine { $0.window = 1 }
        try submit(["a", "b"], to: &machine)
        _ = machine.next(now: Self.start)
        #expect(machine.receive(ack("b"), now: Self.start) == nil)
        machine.disconnected(problem: "gone")
        machine.connected(now: Self.start)
        #expect(machine.receive(ack("a"), now: Self.start) == nil && machine.items.count == 2)
    }

    @Test func `A new connection frees the ids of requests that have ended, also if an answer is missing`() throws {
        var machine = machine()
        try submit(["x"], to: &machine)
        _ = machine.next(now: Self.start)
        #expect(machine.cancel(Ticket(number: 1), now: Self.start) == .failed(.cancelled(inDoubt: true)))
        try submit(["x", "y"], app: "news", from: 2, to: &machine, deadline: .seconds(90))
        #expect(machine.next(now: Self.start)?.tickets == [Ticket(number: 3)])
        #expect(machine.expire(now: Self.start + .milliseconds(4_900)).isSilent == false)
        var other = machine
        _ = other.cancel(Ticket(number: 3), now: Self.start)
        #expect(other.expire(now: Self.start + .seconds(5)).isSilent, "there was no ack")
        #expect(machine.receive(ack("y"), now: Self.start + .milliseconds(4_950))?.0 == Ticket(number: 3))
        #expect(machine.expire(now: Self.start + .milliseconds(29_900)).isSilent == false)
        #expect(machine.expire(now: Self.start + .seconds(30)).isSilent)
        machine.disconnected(problem: "gone")
        machine.connected(now: Self.start)
        #expect(machine.next(now: Self.start)?.tickets == [Ticket(number: 2)])
        #expect(machine.claims.count == 1 && machine.held.isEmpty)
    }

    @Test func `While there are other acks, a late one of a request that has ended does not end the connection`() throws
    {
        var machine = machine()
        try submit(["x"], to: &machine)
        _ = machine.next(now: Self.start)
        _ = machine.cancel(Ticket(number: 1), now: Self.start)
        try submit(["x"], app: "news", from: 2, to: &machine, deadline: .seconds(90))
        for second in 1...7 {
            let now = Self.start + .seconds(second)
            try submit(["y-\(second)"], from: 10 + UInt64(second), to: &machine)
            #expect(machine.next(now: now)?.tickets == [Ticket(number: 10 + UInt64(second))])
            #expect(machine.receive(ack("y-\(second)"), now: now) != nil)
            #expect(machine.expire(now: now).isSilent == false)
        }
        #expect(machine.receive(ack("x"), now: Self.start + .seconds(7)) == nil)
        #expect(machine.next(now: Self.start + .seconds(7))?.tickets == [Ticket(number: 2)])
    }

    @Test func `A busy request lets those of other apps with its id go first, and none of its own app`() throws {
        var machine = machine()
        for (index, app) in ["shop", "shop", "news", "blog"].enumerated() {
            try submit(["x"], app: app, from: UInt64(index) + 1, to: &machine)
        }
        func next(after time: Duration = .zero) -> UInt64? {
            let tickets = machine.next(now: Self.start + time)?.tickets ?? []
            #expect(tickets.count < 2)
            return tickets.first?.number
        }
        #expect(next() == 1)
        #expect(machine.receive(ack("x", .busy(.seconds(1))), now: Self.start) == nil)
        #expect(next() == 3)
        #expect(machine.receive(ack("x", .busy(.seconds(1))), now: Self.start) == nil)
        #expect(next() == 4)
        #expect(machine.receive(ack("x"), now: Self.start)?.0 == Ticket(number: 4))
        #expect(next(after: .milliseconds(999)) == nil)
        for number in [UInt64(1), 2, 3] {
            #expect(next(after: .seconds(1)) == number)
            #expect(machine.receive(ack("x"), now: Self.start + .seconds(1))?.0 == Ticket(number: number))
        }
        #expect(machine.isIdle && machine.claims.isEmpty && machine.held.isEmpty && machine.busy.isEmpty)
        #expect(machine.waitingBytes == 0)
    }

    @Test func `Busy requests are sent again in their order, before younger ones`() throws {
        var machine = machine { $0.maxBatch = 3 }
        try submit(["a", "b", "c", "d"], to: &machine)
        #expect(machine.next(now: Self.start)?.tickets.count == 3)
        for id in ["a", "b", "c"] {
            #expect(machine.receive(ack(id, .busy(.seconds(1))), now: Self.start) == nil)
        }
        let tickets = (0..<2).compactMap { _ in machine.next(now: Self.start + .seconds(9))?.tickets }
        #expect(tickets == [(1...3).map { Ticket(number: $0) }, [Ticket(number: 4)]])
    }

    @Test func `A request that waits for the pause of its app does not hold up another app with its id`() throws {
        var machine = machine()
        try submit(["y"], to: &machine)
        _ = machine.next(now: Self.start)
        #expect(machine.receive(ack("y", .busy(.seconds(10))), now: Self.start) == nil)
        try submit(["x", "z"], from: 2, to: &machine)
        try submit(["x"], app: "news", from: 4, to: &machine)
        #expect(machine.next(now: Self.start) == nil)
        _ = machine.expire(now: Self.start + .seconds(1))
        #expect(machine.next(now: Self.start + .seconds(1))?.tickets == [Ticket(number: 4)])
        #expect(machine.receive(ack("x"), now: Self.start + .seconds(1))?.0 == Ticket(number: 4))
        // Both are paused: nothing changes.
        try submit(["x"], app: "news", from: 5, to: &machine)
        var paused = Lane()
        paused.pause(.seconds(10), now: Self.start)
        machine.lanes[IDKey("news").hash] = paused
        _ = machine.expire(now: Self.start + .seconds(2))
        #expect(machine.held[IDKey("x").hash] == [Ticket(number: 5)])
        let again = Self.start + .seconds(10)
        let tickets = machine.next(now: again)?.tickets ?? []
        #expect(tickets.sorted() == (1...3).map { Ticket(number: $0) } && Set(tickets).count == 3)
        for id in ["x", "y", "z"] { #expect(machine.receive(ack(id), now: again) != nil) }
        #expect(machine.next(now: again)?.tickets == [Ticket(number: 5)])
        #expect(machine.receive(ack("x"), now: again)?.0 == Ticket(number: 5))
        #expect(machine.isIdle && machine.claims.isEmpty && machine.held.isEmpty && machine.waitingBytes == 0)
    }

    @Test func `An app is busy until its pause ends, also if the request that was busy has ended`() throws {
        var machine = machine()
        try submit(["a"], to: &machine)
        _ = machine.next(now: Self.start)
        _ = machine.receive(ack("a", .busy(.seconds(10))), now: Self.start)
        #expect(machine.busyApps(now: Self.start + .seconds(20)) == [IDKey("shop")])
        _ = machine.cancel(Ticket(number: 1), now: Self.start)
        #expect(machine.busyApps(now: Self.start + .seconds(9)) == [IDKey("shop")])
        #expect(machine.busyApps(now: Self.start + .seconds(10)).isEmpty)
    }

    @Test func `All busy apps together leave room in the producer, however many they are and however large`() throws {
        var settings = ProducerSettings()
        for count in [1, 5, 178, 11_000] {
            let shares = SpoolShares(busy: Set((0..<count).map { IDKey("app-\($0)") }), settings: settings)
            #expect(shares.messages * count <= max(settings.window / 4, count) && shares.messages >= 1)
            #expect(shares.bytes * count <= settings.maxWaitingBytes / 2)
            #expect(shares.room(beside: .init(messages: 0, bytes: shares.bytes)) == 0)
            #expect(shares.room(beside: .init(messages: shares.messages, bytes: 0)) == 0)
            #expect(shares.room(beside: .init()) == shares.messages)
        }
        settings.maxWaiting = 2
        settings.window = 1
        var machine = ProducerMachine(settings)
        #expect(!machine.isHalfFull)
        try submit(["a"], to: &machine)
        #expect(machine.isHalfFull)
    }

    @Test func `The answers that may still come are bounded in number`() throws {
        var machine = machine {
            $0.window = 10
            $0.maxWaiting = 10
        }
        var isReplaced = false
        for number in 1...UInt64(100) where !isReplaced {
            try submit(["m-\(number)"], from: number, to: &machine)
            _ = machine.next(now: Self.start)
            isReplaced = machine.expire(now: Self.start + .milliseconds(60) * Int(number)).isSilent
            _ = machine.cancel(Ticket(number: number), now: Self.start)
        }
        #expect(isReplaced && machine.claims.count < 50)
        machine.disconnected(problem: "gone")
        #expect(machine.claims.isEmpty)
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

    @Test func `Cancelled requests leave no turns behind, also without a connection`() throws {
        var machine = ProducerMachine(ProducerSettings())
        for number in UInt64(1)...1_000 {
            try submit(["x\(number)"], from: number, to: &machine)
            _ = machine.cancel(Ticket(number: number), now: Self.start)
        }
        #expect(machine.turns.count <= 1)
        try submit(["a"], from: 2_000, to: &machine)
        machine.connected(now: Self.start)
        #expect(machine.turns.count == 1 && machine.next(now: Self.start)?.tickets == [Ticket(number: 2_000)])
    }
}
