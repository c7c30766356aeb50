import PushRandom
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

/// Seeded random walks of ``ProducerMachine`` beside a server that loses, delays and refuses. In every second walk, it
/// also repeats answers, and answers what another connection asked.
@Suite(.waits) struct ProducerWalkTests {
    /// What the walk knows of one request.
    private struct Known {
        let id: String
        let app: String
        var outcomes = 0
        var wasSent = false
    }

    private struct Walk {
        /// A request as the server has it.
        struct Line {
            let ticket: Ticket
            let id: String
            let kind: EncodedRequest.Kind
        }

        let isSane: Bool
        var random: SeededRandom
        var machine: ProducerMachine
        var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        var known: [Ticket: Known] = [:]
        /// The requests that the server has received and not answered, oldest first.
        var server: [[Line]] = []
        /// The ids that the server has accepted, with the number of times.
        var accepted: [String: Int] = [:]
        var next: UInt64 = 0

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            isSane = seed % 2 == 0
            var settings = ProducerSettings()
            settings.window = 20
            settings.windowBytes = 6_000
            settings.maxWaiting = 30
            settings.maxBatch = 7
            machine = ProducerMachine(settings)
        }

        mutating func chance(_ share: Double) -> Bool { random.unit() < share }

        mutating func submit() throws {
            next += 1
            let ticket = Ticket(number: next)
            // Few ids, so that several requests have the same one at a time.
            let id = "m-\(Int.random(in: 0..<60, using: &random))"
            let app = chance(0.3) ? "news" : "shop"
            let request: EncodedRequest
            if chance(0.1) {
                request = try EncodedRequest(cancel: id, app: app)
            } else {
                let text = String(repeating: "x", count: Int.random(in: 0..<700, using: &random))
                request = try EncodedRequest(
                    Push(
                        id: id, app: app, to: .user("ada"),
                        payload: Array("{\"x\":\"\(text)\"\(chance(0.1) ? "\n" : "")}".utf8)))
            }
            let deadline = now + .milliseconds(Int64.random(in: 10..<20_000, using: &random))
            let before = machine.items.count
            if let error = machine.submit(request, ticket: ticket, deadline: deadline, now: now) {
                guard case .busy(let time) = error else { Issue.record("\(error)"); return }
                #expect(time > .zero && machine.items.count == before)
            } else {
                known[ticket] = Known(id: id, app: app)
            }
        }

        mutating func end(_ ticket: Ticket, _ outcome: ProducerMachine.Outcome) {
            known[ticket]?.outcomes += 1
            #expect(known[ticket]?.outcomes == 1, "a request ends once")
            switch outcome {
            case .failed(.unknown), .failed(.cancelled(inDoubt: true)), .failed(.closed(inDoubt: true)):
                #expect(known[ticket]?.wasSent == true)
            case .failed(.unavailable), .failed(.cancelled(inDoubt: false)), .failed(.closed(inDoubt: false)):
                // A request that the server has may not end as one that was not sent.
                break
            case .answered(.accepted):
                #expect(accepted[known[ticket]?.id ?? "", default: 0] > 0)
            default: break
            }
        }

        mutating func send() {
            while let batch = machine.next(now: now) {
                #expect(!batch.tickets.isEmpty && batch.tickets.count <= 7)
                if chance(0.05) {
                    machine.notSent(batch)
                    return
                }
                var lines: [Line] = []
                for ticket in batch.tickets {
                    guard let request = machine.request(ticket) else {
                        Issue.record("an ended request was sent"); return
                    }
                    #expect(batch.tickets.count == 1 || request.isLine)
                    known[ticket]?.wasSent = true
                    lines.append(Line(ticket: ticket, id: request.id, kind: request.kind))
                }
                #expect(Set(lines.map { $0.id }).count == lines.count, "one id at a time")
                if chance(0.9) { server.append(lines) }
            }
            #expect(machine.unacknowledged <= 20)
            #expect(Set(machine.turns).count == machine.turns.count, "an app has one turn")
            #expect(machine.pending.count <= ProducerSettings.maxRequests)
        }

        mutating func answer() {
            guard !server.isEmpty else { return }
            let lines = server.remove(at: chance(0.8) ? 0 : Int.random(in: 0..<server.count, using: &random))
            for line in lines {
                let verdict: AckStatus.Verdict
                if chance(0.1) {
                    verdict = .busy(.milliseconds(Int64.random(in: 1..<3_000, using: &random)))
                } else if line.kind == .cancel {
                    verdict = chance(0.5) ? .tooLate : .cancelled(sent: 1, cancelled: 0)
                } else if chance(0.05) {
                    verdict = .rejected(PushRefusal(.badField, detail: "x"))
                } else {
                    let isNew = accepted[line.id] == nil
                    accepted[line.id, default: 0] += 1
                    verdict = isNew ? .accepted(1, []) : .duplicate(1, [])
                }
                for _ in 0..<(!isSane && chance(0.1) ? 2 : 1) where chance(0.95) {
                    if let (ticket, outcome) = machine.receive(
                        AckStatus(key: IDKey(line.id), verdict: verdict), now: now)
                    {
                        #expect(known[ticket]?.id == line.id)
                        #expect(!isSane || ticket == line.ticket, "an ack ends the request that it answers")
                        end(ticket, outcome)
                    }
                }
            }
        }

        mutating func step() throws {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<40: try submit()
            case 40..<70: answer()
            case 70..<73:
                machine.disconnected(problem: "lost")
                if isSane || chance(0.5) { server = [] }
                #expect(machine.unacknowledged == 0 && machine.unacknowledgedBytes == 0)
            case 73..<80: machine.connected(now: now)
            case 80..<84:
                guard let ticket = known.keys.randomElement(using: &random) else { return }
                if let outcome = machine.cancel(ticket, now: now) { end(ticket, outcome) }
            default: now = now + .milliseconds(Int64.random(in: 0..<400, using: &random))
            }
            let (ended, isSilent) = machine.expire(now: now)
            for (ticket, outcome) in ended { end(ticket, outcome) }
            if isSilent {
                machine.disconnected(problem: "silent")
                if isSane { server = [] }
            }
            send()
        }
    }

    @Test(arguments: 0..<24)
    func `Each request ends once, within the bounds, whatever the server does`(_ seed: Int) throws {
        var walk = Walk(seed: UInt64(seed))
        for _ in 0..<1_500 { try walk.step() }
        for (ticket, outcome) in walk.machine.end() { walk.end(ticket, outcome) }
        #expect(walk.known.values.allSatisfy { $0.outcomes == 1 })
        #expect(walk.machine.items.isEmpty && walk.machine.waitingBytes == 0 && walk.machine.unacknowledgedBytes == 0)
        #expect(walk.machine.pending.isEmpty && walk.machine.held.isEmpty)
        #expect(walk.machine.busy.isEmpty && walk.machine.pauses.isEmpty)
        walk.machine.disconnected(problem: "over")
        #expect(walk.machine.claims.isEmpty)
    }

    @Test(arguments: 0..<10)
    func `All requests are accepted once the server answers again`(_ seed: Int) throws {
        var walk = Walk(seed: UInt64(1_000 + seed))
        for _ in 0..<500 { try walk.step() }
        walk.machine.connected(now: walk.now)
        // A server that answers everything within the deadlines leaves nothing open.
        for _ in 0..<3_000 where !walk.machine.isIdle {
            walk.now = walk.now + .milliseconds(60)
            let (ended, isSilent) = walk.machine.expire(now: walk.now)
            for (ticket, outcome) in ended { walk.end(ticket, outcome) }
            if isSilent {
                walk.machine.disconnected(problem: "silent")
                if walk.isSane { walk.server = [] }
                walk.machine.connected(now: walk.now)
            }
            walk.send()
            while !walk.server.isEmpty { walk.answer() }
        }
        #expect(walk.machine.isIdle)
    }
}
