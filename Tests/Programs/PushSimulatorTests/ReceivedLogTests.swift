import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

@Suite struct ReceivedLogTests {
    @Test("A record takes at most 96 bytes")
    func recordsAreSmall() {
        #expect(MemoryLayout<Record>.stride <= 96)
    }

    /// Compares the log with arrays and dictionaries that discard only what the log must discard.
    @Test("The log agrees with a simple model after random operations", .waits)
    func walksLikeASimpleModel() {
        struct Kept {
            var record: Record
            var token: [UInt8]
            var label: [UInt8]
            var payload: [UInt8]
        }
        let capacity = 50
        var log = ReceivedLog(records: capacity, retainedBytes: 3000)
        var model: [UInt64: Kept] = [:]
        var newest: UInt64 = 0
        var oldest: UInt64 = 1
        var seen: [UInt64: (record: UInt64, accepted: Bool)] = [:]
        var duplicates: UInt64 = 0
        var acceptedAgain: UInt64 = 0
        var counts: [UInt16: UInt64] = [:]
        var random = SeededRandom(seed: 77)
        for step in 0..<20_000 {
            switch Int.random(in: 0..<200, using: &random) {
            case 0:
                log.removeAll()
                model = [:]
                seen = [:]
                oldest = newest + 1
                duplicates = 0
                acceptedAgain = 0
                counts = [:]
            case 1..<8 where newest >= oldest:
                let number = UInt64.random(in: oldest...newest, using: &random)
                log.markUnanswered(number)
                model[number]?.record.flags.insert(.isUnanswered)
            case 8..<16 where newest >= oldest:
                // Use only the newest record, because its mark is certainly its own.
                guard let kept = model[newest], !kept.record.flags.contains(.isUnprocessed) else { continue }
                let wasAccepted = kept.record.isAccepted
                let id = kept.record.idFirst
                log.markUnprocessed(newest)
                counts[kept.record.status, default: 0] -= 1
                if wasAccepted, kept.record.flags.contains(.isAcceptedAgain) {
                    acceptedAgain -= 1
                } else if wasAccepted {
                    seen[id]?.accepted = false
                }
                model[newest]!.record.flags.insert(.isUnprocessed)
                model[newest]!.record.flags.remove(.isAcceptedAgain)
            default:
                let token = Self.bytes([0, 1, 31, 32, 33, 100].randomElement(using: &random)!, using: &random)
                let label = Self.bytes(Int.random(in: 0...64, using: &random), using: &random)
                let payload = Self.bytes([0, 10, 300, 2900, 3001].randomElement(using: &random)!, using: &random)
                var record = Record()
                record.at = Int64(step)
                record.flags = .hasOwnID
                record.idFirst = UInt64.random(in: 0..<120, using: &random)
                record.reason = [Reason.none, .none, .badDeviceToken, .unregistered].randomElement(using: &random)!
                record.status = record.reason.status
                record.tokenLength = UInt8(token.count)
                ByteView.lending(token) {
                    let words = TokenBytes($0)!.words
                    record.token = (words[0], words[1], words[2], words[3])
                }
                record.payloadLength = UInt32(payload.count)
                let number = ByteView.lending(token) { token in
                    ByteView.lending(label) { label in
                        ByteView.lending(payload) { log.append(record, token: token, label: label, payload: $0) }
                    }
                }
                newest += 1
                #expect(number == newest)
                if newest - oldest >= UInt64(capacity) {
                    let gone = model.removeValue(forKey: oldest)!
                    if seen[gone.record.idFirst]?.record == oldest { seen[gone.record.idFirst] = nil }
                    oldest += 1
                }
                counts[record.status, default: 0] += 1
                if let before = seen[record.idFirst] {
                    duplicates += 1
                    record.flags.insert(.isDuplicate)
                    if before.accepted && record.isAccepted {
                        acceptedAgain += 1
                        record.flags.insert(.isAcceptedAgain)
                    }
                    seen[record.idFirst] = (newest, before.accepted || record.isAccepted)
                } else {
                    seen[record.idFirst] = (newest, record.isAccepted)
                }
                model[newest] = Kept(record: record, token: token, label: label, payload: payload)
            }
            #expect(log.ring.newest == newest)
            #expect(log.ring.oldest == oldest)
            #expect(log.duplicateTotal == duplicates)
            #expect(log.acceptedDuplicateTotal == acceptedAgain)
            if newest >= oldest {
                let number = UInt64.random(in: oldest...newest, using: &random)
                let kept = model[number]!
                let record = log.ring[number]
                #expect(record.flags == kept.record.flags)
                #expect(record.at == kept.record.at)
                #expect(record.isAccepted == kept.record.isAccepted)
                // The bytes may have been overwritten, but they must never be those of another record.
                if let token = log.token(of: record) { #expect(token == kept.token) }
                if let label = log.label(of: record), record.labelLength > 0 { #expect(label == kept.label) }
                if let payload = log.payload(of: record) { #expect(payload == kept.payload) }
                if kept.payload.count <= 300, number == newest {
                    #expect(log.payload(of: record) != nil)
                    #expect(log.token(of: record) != nil)
                }
            }
            if step % 500 == 0 {
                var found: [UInt16: UInt64] = [:]
                log.forEachCount { status, _, _, count in found[status, default: 0] += count }
                #expect(found == counts.filter { $0.value > 0 })
            }
        }
        #expect(duplicates > 0 && newest > 1000)
    }

    private static func bytes(_ count: Int, using random: inout SeededRandom) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 20) }
    }

    @Test("The set of ids agrees with a dictionary after random operations")
    func idsAgainstADictionary() {
        var set = IdentifierSet(maxCount: 200)
        var model: [MessageID: UInt64] = [:]
        var random = SeededRandom(seed: 4)
        for step in 1...50_000 as ClosedRange<UInt64> {
            // Use few ids, so that runs of occupied slots form and break.
            let id = MessageID(first: UInt64.random(in: 0..<180, using: &random), second: 0, isUppercase: false)
            if Bool.random(using: &random) {
                let before = set.set(.init(record: step, isAccepted: false), for: id)
                #expect(before?.record == model[id])
                model[id] = step
            } else if let record = model[id] {
                set.remove(id, record: record &- 1)
                #expect(set.mark(of: id)?.record == record, "the mark names another record")
                set.remove(id, record: record)
                model[id] = nil
            } else {
                #expect(set.mark(of: id) == nil)
            }
            #expect(set.count == model.count)
        }
        for (id, record) in model { #expect(set.mark(of: id)?.record == record) }
        set.removeAll()
        for id in model.keys { #expect(set.mark(of: id) == nil) }
    }

    @Test("Duplicates are recorded with their tokens")
    func tellsDuplicatesWithTheirTokens() throws {
        let provider = try Provider()
        let (second, third) = (String(repeating: "ab", count: 32), String(repeating: "ef", count: 32))
        provider.send()
        provider.send([":path": "/3/device/\(second)"])
        provider.send(["apns-id": nil])
        provider.send(["apns-id": nil])
        provider.send([":path": "/3/device/\(third)", "apns-priority": "9"])
        #expect(provider.machine.log.duplicateTotal == 2)
        #expect(provider.machine.log.acceptedDuplicateTotal == 1)
        let duplicate = try #require(provider.machine.log.duplicates.first)
        #expect(provider.machine.log.duplicates.count == 1)
        #expect(duplicate.occurrences.map { Hex.text($0.token) } == [Provider.token, second, third])
        #expect(duplicate.occurrences.map(\.isAccepted) == [true, true, false])
        #expect(duplicate.occurrences.map(\.record) == [1, 2, 5])
    }

    @Test("A retry after status 503 does not count as accepted twice")
    func aRetryAfterA503IsNoSecondAcceptance() throws {
        let provider = try Provider(script: "{rules: [{match: {request: 1}, answer: {status: 503}}]}")
        provider.send()
        provider.send()
        #expect(provider.machine.log.duplicateTotal == 1)
        #expect(provider.machine.log.acceptedDuplicateTotal == 0)
    }

    @Test("A retry after a lost answer counts as accepted twice, unless the stream was refused")
    func aRetryAfterALostAnswerIs() throws {
        let provider = try Provider(script: "{rules: [{match: {request: 1}, reset: 'CANCEL'}]}")
        provider.send()
        provider.send()
        #expect(provider.machine.log.acceptedDuplicateTotal == 1)
        let refused = try Provider(script: "{rules: [{match: {request: 1}, reset: 'REFUSED_STREAM'}]}")
        refused.send()
        refused.send()
        #expect(refused.machine.log.acceptedDuplicateTotal == 0)
    }

    @Test("Requests are recorded even if there is no room for payloads")
    func keepsWithoutRoomForPayloads() throws {
        let provider = try Provider(
            Provider.settings {
                $0.retainedBytes = 0; $0.records = 2
            })
        for _ in 0..<5 { provider.send([":path": "/3/device/" + String(repeating: "ab", count: 40)]) }
        #expect(provider.machine.log.ring.count == 2)
        #expect(provider.machine.log.token(of: provider.lastRecord) == nil)
        #expect(provider.control("GET", "/received", "payload=true").text.split(separator: "\n").count == 2)
    }
}
