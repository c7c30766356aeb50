@testable import PushSimulator

extension FuzzTarget {
    /// The legacy binary protocol: the result does not depend on how the bytes are split.
    static let legacy = FuzzTarget(
        name: "legacy-binary",
        seeds: {
            let token = [UInt8](repeating: 0xaa, count: 32)
            let payload = Array(#"{"aps":{"badge":1}}"#.utf8)
            let length = UInt8(payload.count)
            let simple = [0, 32] + token + [0, length] + payload
            let items =
                [1, 0, 32] + token + [2, 0, length] + payload + [3, 0, 4, 0, 0, 0, 7, 4, 0, 4, 0, 0, 0, 9, 5, 0, 1, 10]
            let frame: [UInt8] = [2, 0, 0, 0, UInt8(items.count)] + items
            return [
                [40, 0] + simple, [3, 1, 0, 0, 0, 1, 0, 0, 0, 2] + simple, [255] + frame + frame + [0] + simple,
                [9, 2, 0, 0, 0, 3, 5, 0, 1], [9, 0, 0, 0], [9, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 4, 1, 2, 3, 4, 255, 255],
            ]
        },
        run: { input in
            let size = 1 + Int(input.byte())
            let bytes = input.rest()
            let whole = readFrames(bytes, in: max(1, bytes.count))
            let cut = readFrames(bytes, in: size)
            require(whole == cut, "split into pieces, the bytes are parsed as\n\(cut)\ninstead of\n\(whole)")
        })
}

private func readFrames(_ bytes: [UInt8], in size: Int) -> [String] {
    var parser = BinaryParser()
    var steps: [String] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
        let piece = Array(bytes[start..<min(bytes.count, start + size)])
        do throws(BinaryFault) {
            try ByteView.lending(piece) { (view) throws(BinaryFault) in
                try parser.parse(view) { frame in
                    require(frame.token.count <= BinaryParser.maxTokenLength, "a token exceeds the limit")
                    require(frame.payload.count <= BinaryParser.maxPayloadLength, "a payload exceeds the limit")
                    let head = "\(frame.command) \(frame.identifier ?? 0) \(frame.expiration ?? 0) \(frame.priority)"
                    steps.append("\(head) \(frame.token.copied()) \(frame.payload.copied())")
                    return true
                }
            }
        } catch {
            return steps + ["\(error)"]
        }
        require(parser.pendingCount <= BinaryParser.maxFrameLength + 5, "\(parser.pendingCount) bytes are buffered")
    }
    return steps
}
