import APNs
import PushModel
import PushWire

extension FuzzTarget {
    /// The output of a legacy gateway and its feedback service: the result does not depend on how the bytes are split.
    static let legacyClient = FuzzTarget(
        name: "legacy-client",
        seeds: {
            let tuple: [UInt8] = [0x60, 0, 0, 0, 0, 4, 1, 2, 3, 4]
            var record: [UInt8] = []
            FeedbackRecord.append(
                FeedbackTuple(time: 7, token: Address(words: (1, 2, 3, 4))), to: &record)
            return [
                [1, 8, 8, 0, 0, 0, 1], [3, 8, 10, 0, 0, 1, 0, 9], [1] + tuple + tuple, [7] + tuple.dropLast(),
                [2, 0, 0, 0, 0, 0, 0, 1, 1, 0xff, 0xff], [1] + record + record, [1] + record.dropLast(3),
            ]
        },
        run: { input in
            let size = max(1, Int(input.byte()))
            let bytes = input.rest()
            var whole: [FeedbackTuple] = []
            var pieces: [FeedbackTuple] = []
            var one = FeedbackDecoder()
            var many = FeedbackDecoder()
            one.decode(bytes, into: &whole)
            unsafe bytes.inPieces(of: size) { unsafe many.decode($0, into: &pieces) }
            require(whole == pieces, "feedback is parsed differently in pieces")
            require(one.malformed == many.malformed, "malformed tuples are counted differently in pieces")

            var packets: [LegacyErrorPacket?] = []
            for step in [bytes.count, size] {
                var decoder = LegacyErrorDecoder()
                var packet: LegacyErrorPacket?
                do {
                    for start in stride(from: 0, to: bytes.count, by: max(1, step)) where packet == nil {
                        packet = try decoder.decode(bytes[start..<min(bytes.count, start + max(1, step))])
                    }
                } catch {}
                packets.append(packet)
            }
            require(packets[0] == packets[1], "an error packet is parsed differently in pieces")

            let reading = FeedbackRecord.read(bytes)
            var again: [UInt8] = []
            for tuple in reading.tuples { FeedbackRecord.append(tuple, to: &again) }
            require(Array(bytes.prefix(reading.used)) == again, "a record changed after it was parsed and written")
        })
}
