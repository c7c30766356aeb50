import APNs
import PushModel
import PushWire
import Testing

@Suite struct PastedTokenTests {
    private static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

    @Test(arguments: [
        PastedTokenTests.token, PastedTokenTests.token.uppercased(), "  <\(PastedTokenTests.token)> ",
        "<00fc13ad ff785122 b4ad2880 9a342098 23412414 21348097 878e577c 991de8f0>",
        "00:fc:13:ad:ff:78:51:22:b4:ad:28:80:9a:34:20:98:23:41:24:14:21:34:80:97:87:8e:57:7c:99:1d:e8:f0",
        "APwTrf94USK0rSiAmjQgmCNBJBQhNICXh45XfJkd6PA=", "APwTrf94USK0rSiAmjQgmCNBJBQhNICXh45XfJkd6PA",
        "\"\(PastedTokenTests.token)\"",
    ])
    func `Pasted tokens are accepted in all usual formats`(_ text: String) throws {
        #expect(try PastedToken.read(text).hex == Self.token)
    }

    @Test func `Longer tokens are accepted up to a limit`() throws {
        #expect(try PastedToken.read(String(repeating: "ab", count: 100)).byteCount == 100)
        let failure = #expect(throws: AddressFault.self) { try PastedToken.read(String(repeating: "ab", count: 101)) }
        #expect(failure?.problem == "has 101 bytes; a device token has at most 100")
        // A token in base64 with the URL alphabet.
        let bytes = [UInt8](repeating: 0xfb, count: 32)
        let text = String(repeating: "-_v7", count: 10) + "-_s"
        #expect(try PastedToken.read(text).bytes == bytes)
    }
}
