import PushLogic
import PushModel
import PushTime
import TestSupport
import Testing

@testable import APNs

/// Random walks beside a model of a gateway that follows the legacy protocol and knows what it accepted.
@Suite struct LegacyMirrorTests {
    /// A gateway that reads in order and accepts everything before the first frame that it refuses.
    private struct Gateway {
        var unread: [LegacyScene.Frame] = []
        var accepted: Set<UInt64> = []
        var refused: (ticket: UInt64, status: UInt8)?
        var packet: (status: UInt8, identifier: UInt32)?
        var last: UInt32 = 0

        mutating func read(_ count: Int, _ random: inout SeededRandom) {
            for _ in 0..<min(count, unread.count) where packet == nil {
                switch unread.removeFirst() {
                case .probe(let identifier):
                    packet = (2, Bool.random(using: &random) ? identifier : 0)
                case .sent(let ticket, let identifier):
                    switch Int.random(in: 0..<200, using: &random) {
                    case 0:
                        let status = [1, 2, 3, 4, 5, 6, 7, 8, 128, 255].randomElement(using: &random)! as UInt8
                        refused = (ticket, status)
                        packet = (status, identifier)
                    case 1:
                        accepted.insert(ticket)
                        packet = (10, identifier)
                    default:
                        accepted.insert(ticket)
                    }
                }
            }
        }
    }

    @Test(arguments: 1...40)
    func `Every delivery ends once, and as the gateway treated it`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var endedBy: Set<String> = []
        for _ in 0..<25 { walk(&random, &endedBy) }
        #expect(endedBy.count >= 3)
    }

    private func walk(_ random: inout SeededRandom, _ endedBy: inout Set<String>) {
        let ring = Int.random(in: 1...40, using: &random)
        let first = Bool.random(using: &random) ? 1 : UInt64(UInt32.max) - UInt64.random(in: 0...50, using: &random)
        var scene = LegacyScene {
            $0.ringSize = ring
            $0.firstSequence = first
        }
        var gateway = Gateway()
        var given: UInt64 = 0
        var bytes: UInt64 = 0
        var acknowledged: UInt64 = 0
        for _ in 0..<400 where scene.end == nil {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<30:
                let count = UInt64.random(in: 1...20, using: &random)
                scene.deliver(given + 1...given + count, attempt: UInt16.random(in: 1...2, using: &random))
                given += count
            case 30..<33: scene.open()
            case 33..<60:
                let frames = scene.frames(Int.random(in: 1...30, using: &random))
                gateway.unread += frames
                bytes += UInt64(frames.count) * 100
                if scene.machine.hasUnmarked { scene.machine.handedOver(bytes: bytes, now: scene.now) }
            case 60..<75: gateway.read(Int.random(in: 1...30, using: &random), &random)
            case 75..<85:
                // Here a gateway reports an error within the settle time: it has read what its TCP has.
                gateway.read(.max, &random)
                guard gateway.packet == nil else { continue }
                acknowledged = bytes
                scene.pass(.milliseconds(Int.random(in: 1...3000, using: &random)), acknowledged: acknowledged)
            case 85..<90: scene.pass(.milliseconds(1), acknowledged: acknowledged)
            case 90..<97:
                guard let packet = gateway.packet else { continue }
                scene.take(
                    scene.machine.errorReceived(
                        status: packet.status, identifier: packet.identifier, now: scene.now))
                endedBy.insert("\(packet.status)")
            case 97:
                scene.take(scene.machine.drain(now: scene.now))
                endedBy.insert("drain")
            case 98 where Int.random(in: 0..<5, using: &random) == 0:
                scene.take(scene.machine.close(now: scene.now))
                endedBy.insert("close")
            case 99 where Int.random(in: 0..<5, using: &random) == 0:
                let lost = ConnectionEnd(.lost, message: "lost")
                scene.take(scene.machine.connectionEnded(lost, isWordless: true, now: scene.now))
                endedBy.insert("lost")
            default: continue
            }
            #expect(scene.machine.inFlight <= ring)
            #expect(UInt64(scene.machine.inFlight + scene.machine.waitingCount + scene.endings.count) == given)
        }
        if scene.end == nil { scene.take(scene.machine.close(now: scene.now)) }
        #expect(scene.ends == 1 && UInt64(scene.endings.count) == given)
        for (ticket, ending) in scene.endings {
            switch ending {
            case .accepted: #expect(gateway.accepted.contains(ticket))
            case .notProcessed: #expect(!gateway.accepted.contains(ticket))
            case .refused:
                #expect(gateway.refused?.ticket == ticket && !gateway.accepted.contains(ticket))
            case .unknown: break
            }
        }
        // A packet that names a notification leaves no delivery unknown.
        if scene.end?.kind == .goAway || scene.end?.kind == .errorPacket {
            #expect(scene.endings.values.allSatisfy { if case .unknown = $0 { false } else { true } })
        }
    }
}
