import CNGHTTP2
import TestSupport
import Testing

@testable import PushTransport

/// Decodes header blocks with nghttp2, as a server does.
final class HPACKPeer {
    private let inflater: OpaquePointer

    init() {
        var inflater: OpaquePointer?
        precondition(nghttp2_hd_inflate_new(&inflater) == 0)
        self.inflater = inflater!
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    func setTableSize(_ size: Int) {
        #expect(nghttp2_hd_inflate_change_table_size(inflater, size) == 0)
    }

    var tableSize: Int { nghttp2_hd_inflate_get_dynamic_table_size(inflater) }
    /// The entries of the dynamic table, which follow the static ones.
    var tableCount: Int { nghttp2_hd_inflate_get_num_table_entries(inflater) - 61 }

    /// Returns the fields of a whole block; nil if it cannot be decoded.
    func decode(_ block: [UInt8]) -> [[String]]? {
        var fields: [[String]] = []
        var offset = 0
        while true {
            var field = nghttp2_nv()
            var flags: CInt = 0
            let used = block.withUnsafeBufferPointer {
                nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress! + offset, block.count - offset, 1)
            }
            guard used >= 0 else { return nil }
            offset += used
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                fields.append(
                    [(field.name, field.namelen), (field.value, field.valuelen)].map { start, count in
                        String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
                    })
            }
            if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                return offset == block.count ? fields : nil
            }
        }
    }
}

@Suite struct HPACKEncoderTests {
    /// Encodes a request, and returns its block.
    private func encode(
        _ request: HTTP2PreparedRequest, values: [String], with encoder: inout HPACKEncoder
    ) -> [UInt8] {
        let texts = values.map { SharedBytes(Array($0.utf8)) }
        let pieces = texts.map(\.unsafeBytes)
        return withExtendedLifetime(texts) {
            pieces.withUnsafeBufferPointer { pieces in
                let most = HPACKEncoder.maxLength(of: request, values: pieces)
                return [UInt8](unsafeUninitializedCapacity: most) { bytes, count in
                    count = encoder.encode(request, values: pieces, to: bytes.baseAddress!)
                    #expect(count <= most)
                }
            }
        }
    }

    private func push(token: String = String(repeating: "t", count: 240), priority: Int = 10) -> HTTP2PreparedRequest {
        HTTP2PreparedRequest(
            [
                .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
                .init(":authority", value: .fixed("push.example")), .init(":path", value: .perRequest),
                .init("authorization", value: .fixed("bearer " + token)),
                .init("apns-topic", value: .fixed("com.example.shop")),
                .init("apns-priority", value: .fixed("\(priority)")), .init("apns-id", value: .perRequest),
            ])
    }

    @Test func `A later request costs one byte for each shared field`() {
        var encoder = HPACKEncoder()
        let peer = HPACKPeer()
        let request = push()
        for number in 0..<3 {
            let block = encode(request, values: ["/\(number)", "id-\(number)"], with: &encoder)
            let expected = [
                [":method", "POST"], [":scheme", "https"], [":authority", "push.example"], [":path", "/\(number)"],
                ["authorization", "bearer " + String(repeating: "t", count: 240)], ["apns-topic", "com.example.shop"],
                ["apns-priority", "10"], ["apns-id", "id-\(number)"],
            ]
            #expect(peer.decode(block) == expected)
            // Six shared fields, a name and a value with its length, and a name with an index above 15 likewise.
            if number > 0 { #expect(block.count == 6 + 1 + 3 + 2 + 5) }
        }
        #expect(encoder.tableCount == 5)
    }

    @Test func `The table is that of the peer, whatever its size`() {
        let peer = HPACKPeer()
        var encoder = HPACKEncoder()
        let request = push()
        for size in [4096, 0, 100, 4096, 330, 65_536, 64, 200] {
            encoder.setTableSize(UInt32(size))
            peer.setTableSize(size)
            for _ in 0..<3 {
                #expect(peer.decode(encode(request, values: ["/1", "1"], with: &encoder))?.count == 8)
                #expect(encoder.tableSize == peer.tableSize && encoder.tableCount == peer.tableCount)
                #expect(encoder.tableSize <= size)
            }
        }
    }

    /// nghttp2 refuses a block that does not name the smallest size first.
    @Test func `Of several changes, the smallest size and the last one are named`() {
        let peer = HPACKPeer()
        var encoder = HPACKEncoder()
        let request = push()
        _ = peer.decode(encode(request, values: ["/1", "1"], with: &encoder))
        for size in [3000, 0, 2000] {
            encoder.setTableSize(UInt32(size))
            peer.setTableSize(size)
        }
        let block = encode(request, values: ["/2", "2"], with: &encoder)
        #expect(block.prefix(4) == [0x20, 0x3f, 0xb1, 0x0f])
        #expect(peer.decode(block)?.count == 8)
        #expect(encoder.tableSize == peer.tableSize)
    }

    @Test func `A table that is too small does not change with each request`() {
        var encoder = HPACKEncoder()
        let peer = HPACKPeer()
        encoder.setTableSize(500)
        peer.setTableSize(500)
        let requests = (0..<4).map { push(token: String(repeating: "\($0)", count: 240), priority: $0) }
        var changes = 0
        for number in 0..<1000 {
            let before = encode(requests[number % 4], values: ["/", "x"], with: &encoder)
            #expect(peer.decode(before)?.count == 8)
            #expect(encoder.tableSize == peer.tableSize && encoder.tableCount == peer.tableCount)
            // A field is added with the pattern 01. No byte of a literal has it here, apart from names.
            if before.contains(where: { $0 == 0x40 || $0 == 0x57 }) { changes += 1 }
        }
        #expect(changes < 1000 / 16)
    }

    @Test func `A new token takes the place of an old one`() {
        var encoder = HPACKEncoder()
        let peer = HPACKPeer()
        for hour in 0..<50 {
            let request = push(token: String(repeating: "\(hour % 10)", count: 240))
            var sizes: [Int] = []
            for number in 0..<200 {
                let block = encode(request, values: ["/\(number % 10)", "x"], with: &encoder)
                #expect(peer.decode(block)?[4].last == "bearer " + String(repeating: "\(hour % 10)", count: 240))
                sizes.append(block.count)
            }
            #expect(sizes.last == 14)
        }
        #expect(encoder.tableCount == peer.tableCount)
    }

    /// Random requests with few and many fields, in any order, with any size of the table.
    @Test(arguments: 1...8 as ClosedRange<UInt64>) func `Any requests are decoded to what they are`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var encoder = HPACKEncoder()
        let peer = HPACKPeer()
        let names = [
            ":path", ":method", ":authority", "authorization", "cookie", "apns-id", "apns-topic", "x", "via", "ttl",
        ]
        func text() -> String {
            let length = Int.random(in: 0...9, using: &random) == 0 ? 900 : 12
            return String(
                repeating: "\(UInt8.random(in: 0...9, using: &random))",
                count: Int.random(in: 0...length, using: &random))
        }
        var requests: [(HTTP2PreparedRequest, [(String, String?)])] = []
        for _ in 0..<24 {
            let fields = (0..<Int.random(in: 1...12, using: &random)).map { _ -> (String, String?) in
                (names.randomElement(using: &random)!, Bool.random(using: &random) ? text() : nil)
            }
            let prepared = HTTP2PreparedRequest(
                fields.map { name, value in
                    .init(
                        name, value: value.map { .fixed($0) } ?? .perRequest,
                        indexed: Bool.random(using: &random) ? .once : .repeated)
                })
            requests.append((prepared, fields))
        }
        for _ in 0..<3000 {
            if Int.random(in: 0..<100, using: &random) == 0 {
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let size = Int.random(in: 0...6000, using: &random)
                    encoder.setTableSize(UInt32(size))
                    peer.setTableSize(size)
                }
            }
            let (request, fields) = requests.randomElement(using: &random)!
            let values = (0..<request.perRequestCount).map { _ in text() }
            var own = values.makeIterator()
            let expected = fields.map { name, value in [name, value ?? own.next()!] }
            #expect(peer.decode(encode(request, values: values, with: &encoder)) == expected)
            #expect(encoder.tableSize == peer.tableSize && encoder.tableCount == peer.tableCount)
        }
    }
}
