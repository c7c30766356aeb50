import PushModel
import PushRandom
import PushTime
import TestTraits
import Testing

@testable import WebPush

/// A machine whose origins and peers do anything, in any order.
@Suite struct OriginWalkTests {
    @Test("Each delivery ends once, and all bounds hold", arguments: [1, 2, 3, 4] as [UInt64])
    func walk(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let play = MachinePlay(limits: {
            $0.origins = 8
            $0.connections = 4
            $0.credit = 100
            $0.streams = 20
        })
        var open: Set<Int> = []
        var lookUps: [UInt32] = []
        var links: [UInt32] = []
        var next = 0
        func settle() {
            for ended in play.ended() where open.remove(ended.ticket) == nil {
                Issue.record("seed \(seed): \(ended.ticket) ended twice")
            }
            for action in play.turn() {
                let words = action.split(separator: " ")
                if words[0] == "look" { lookUps.append(UInt32(words[2])!) }
                if words[0] == "connect" { links.append(UInt32(words[1])!) }
            }
            #expect(play.machine.lookUpsRunning <= 4 && play.machine.slots.count <= 8 && links.count <= 4)
            for slot in play.machine.slots {
                #expect(slot.links.count <= 4 && slot.links.allSatisfy { $0.given <= 20 })
            }
        }
        for _ in 0..<RunKind.rounds(3000, long: 30_000) {
            switch random.next() % 8 {
            case 0, 1:
                let count = min(Int(random.next() % 30), 100 - open.count)
                guard count > 0 else { break }
                open.formUnion(next..<next + count)
                play.deliver(next..<next + count, to: "h\(random.next() % 12).test")
                next += count
            case 2:
                guard let number = lookUps.popLast() else { break }
                let found: [String]? = [nil, ["8.8.8.8"], ["8.8.8.8"], ["10.0.0.1"]][Int(random.next() % 4)]
                play.machine.lookedUp(number, found, now: play.now)
            case 3:
                guard let id = links.randomElement(using: &random) else { break }
                play.machine.ready(ConnectionID(id), limit: Int(random.next() % 30), now: play.now)
            case 4, 5:
                guard let id = links.randomElement(using: &random) else { break }
                let some = play.given[ConnectionID(id), default: [:]].keys.sorted().prefix(Int(random.next() % 9))
                let result: AttemptResult =
                    [
                        .accepted(providerID: nil), .accepted(providerID: nil), .notProcessed, .unknown(.timeout),
                        .refused(Refusal(status: 503, reason: nil)), .unknown(.reset),
                    ][Int(random.next() % 6)]
                play.end(Array(some), on: id, result)
            case 6:
                guard random.next() % 3 == 0, let id = links.randomElement(using: &random) else { break }
                play.end(play.given[ConnectionID(id), default: [:]].keys.sorted(), on: id, .unknown(.connectionLost))
                links.removeAll { $0 == id }
                play.machine.closed(ConnectionID(id), play.end(random.next() % 2 == 0 ? .lost : .goAway), now: play.now)
            default:
                play.pass(.milliseconds(Int64(random.next() % 4000)))
                if random.next() % 50 == 0 { play.machine.giveBack() }
            }
            settle()
        }
        play.machine.finish(atOnce: true)
        for id in links {
            play.end(play.given[ConnectionID(id), default: [:]].keys.sorted(), on: id, .unknown(.connectionLost))
            play.machine.closed(ConnectionID(id), play.end(.byUs), now: play.now)
        }
        links = []
        settle()
        #expect(open.isEmpty && play.machine.isDone && next > 500)
    }
}
