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
}
