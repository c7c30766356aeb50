import PushModel
import TestSupport
import Testing

/// Tests of addresses and address ranges as text.
@Suite struct IPAddressTests {
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:DB8::1", "2001:db8::1"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::ffff:c000:201", "192.0.2.1"), ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"), ("fe80::1%eth0", "fe80::1"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
    ])
    func `An address is read and written`(_ text: String, _ written: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == written)
        #expect(IPAddress(written) == address)
    }

    @Test(arguments: [
        "", " ", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "1..2.3", ".1.2.3", "1.2.3.", "-1.2.3.4",
        ":",
        ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "1:2:3:4:5:6:7:8:",
        ":1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3", "::1.2.3.4:5", "1:2:3:4:5:6:7:8::", "localhost", "[::1]", "1:",
    ])
    func `Other texts are not addresses`(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func `Random bytes never trap, and what is read is written alike`() {
        var random = SeededRandom(seed: 11)
        let digits = Array("0123456789abcdef::::....%/".utf8)
        for _ in 0..<100_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in digits.randomElement(using: &random)! }
            let text = String(decoding: bytes, as: UTF8.self)
            if let address = IPAddress(text) { #expect(IPAddress(address.description) == address, "\(text)") }
            if let range = try? AddressRange(text) {
                #expect((try? AddressRange(range.description)) == range && range.contains(range.base), "\(text)")
            }
        }
    }

    @Test func `The site of an address is its first 64 bits, and of IPv4 all of it`() throws {
        let (one, other) = (try #require(IPAddress("2001:db8::1")), try #require(IPAddress("2001:db8::ffff:1:2:3")))
        #expect(one != other && one.site == other.site)
        #expect(try #require(IPAddress("2001:db8:0:1::1")).site != one.site)
        #expect(try #require(IPAddress("192.0.2.1")).site != #require(IPAddress("192.0.2.2")).site)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/9", "::/129", "10.0.0.0/+8", "x/8",
    ])
    func `Other texts are not ranges`(_ text: String) {
        #expect(throws: AddressRange.Fault.self) { try AddressRange(text) }
    }

    @Test(arguments: [
        ("10.0.0.1/8", "10.0.0.0/8"), ("2001:db8::1/32", "2001:db8::/32"), ("192.0.2.255/31", "192.0.2.254/31"),
    ])
    func `A range with bits behind its prefix is a mistake`(_ text: String, _ right: String) {
        #expect { try AddressRange(text) } throws: { "\($0)".contains("did you mean \(right)?") }
    }
}
