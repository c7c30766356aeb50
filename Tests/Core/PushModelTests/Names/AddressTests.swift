import PushModel
import Testing

@Suite struct AddressTests {
    @Test func `An address has 1 to 2,048 bytes`() throws {
        #expect(Address(bytes: []) == nil)
        #expect(Address(bytes: [UInt8](repeating: 1, count: 2049)) == nil)
        for count in [1, 31, 32, 33, 100, 101, 255, 256, 2048] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ count) }
            let address = try #require(Address(bytes: bytes))
            #expect(address.bytes == bytes)
            #expect(address.byteCount == count)
            #expect(address.hex == bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
        }
    }

    @Test func `Addresses are equal only if all bytes and their number are`() throws {
        let bytes = [UInt8](repeating: 0, count: 40)
        let address = try #require(Address(bytes: bytes))
        #expect(try #require(Address(bytes: bytes + [0])) != address)
        #expect(try #require(Address(bytes: bytes.dropLast())) != address)
        #expect(try #require(Address(bytes: [0])) != #require(Address(bytes: [0, 0])))
    }

    @Test func `An address in digits has at most 2,048 bytes`() {
        #expect(Address(hex: String(repeating: "ab", count: 2048))?.byteCount == 2048)
        #expect(Address(hex: String(repeating: "ab", count: 2049)) == nil)
    }

    @Test func `No description shows a whole address`() throws {
        let address = try #require(Address(bytes: [UInt8](repeating: 0xab, count: 2048)))
        #expect("\(address)" == "ababab…")
        #expect(String(reflecting: address) == "ababab…")
    }

    /// A batch of deliveries is copied often.
    @Test func `An address takes 48 bytes where it is stored`() {
        #expect(MemoryLayout<Address>.stride == 48)
    }

    @Test func `Addresses with the same identity are those of one device`() throws {
        let identities = try #require(Identities(secret: Array(1...32)))
        let app = try #require(AppID("shop"))
        for count in [1, 22, 31, 32, 33, 100] {
            let identity = [UInt8](repeating: 0x63, count: count)
            let bare = try #require(Address(bytes: identity))
            let one = try #require(Address(bytes: identity + [0x3a, 1], identifiedByFirst: count))
            let other = try #require(Address(bytes: identity + [0x3a, 2], identifiedByFirst: count))
            #expect(one != other && one != bare)
            #expect(one.identity == bare && bare.identity == bare && bare.identityByteCount == nil)
            let device = identities.device(of: app, token: bare)
            #expect(identities.device(of: app, token: one) == device)
            #expect(identities.device(of: app, token: other) == device)
            #expect(try identities.device(of: app, token: #require(Address(bytes: one.bytes))) != device)
        }
        #expect(Address(bytes: [1, 2], identifiedByFirst: 0) == nil)
        #expect(Address(bytes: [1, 2], identifiedByFirst: 3) == nil)
        #expect(Address(bytes: [], identifiedByFirst: 0) == nil)
        #expect(try #require(Address(bytes: [1, 2], identifiedByFirst: 2)).identityByteCount == nil)
    }

    @Test func `A stored address is read with its identity, whatever its bytes`() throws {
        let mark: [UInt8] = [0xff, 0xc0, 0x69, 0x64, 0x65, 0x6e, 0x74, 0x00]
        var addresses: [Address] = []
        for count in [1, 7, 8, 9, 10, 22, 31, 32, 33, 42, 2048] {
            let plain = [UInt8](repeating: 0x64, count: count)
            let marked = Array((mark + plain).prefix(count))
            for bytes in [plain, marked] {
                addresses.append(try #require(Address(bytes: bytes)))
                for first in [1, 21, 22, count - 1] where (1..<count).contains(first) {
                    addresses.append(try #require(Address(bytes: bytes, identifiedByFirst: first)))
                }
            }
        }
        for address in addresses {
            let stored = address.storedBytes
            #expect(stored.count == address.storedByteCount && stored.count <= Address.maxStoredLength)
            let read = try #require(Address(storedBytes: stored))
            #expect(read == address && read.identityByteCount == address.identityByteCount)
            if stored.count == 32 {
                let words = (0..<4).map { word in
                    stored[(8 * word)..<(8 * word + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                }
                #expect(Address(storedWords: (words[0], words[1], words[2], words[3])) == address)
            }
        }
        // Without a mark the stored form is that of earlier versions.
        #expect(try #require(Address(bytes: [1, 2, 3])).storedBytes == [1, 2, 3])
        #expect(Address(storedBytes: mark) == nil)
        #expect(Address(storedBytes: mark + [0, 1]) == nil)
        #expect(Address(storedBytes: mark + [0, 9, 1, 2]) == nil)
        #expect(Address(storedBytes: []) == nil)
    }
}
