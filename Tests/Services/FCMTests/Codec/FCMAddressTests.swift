import FCM
import PushModel
import PushWire
import Testing

@Suite struct FCMAddressTests {
    private let codec = FCMCodec()
    private let fid = "cHk3b2Pq-1x_ZZaabbccdd"

    @Test func `A token that begins with an installation id is one device with it`() throws {
        #expect(fid.utf8.count == 22)
        let identities = try #require(Identities(secret: Array(1...32)))
        let app = try #require(AppID("shop"))
        let bare = try codec.address(fid)
        let token = try codec.address("\(fid):APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx")
        let next = try codec.address("\(fid):APA91bAnother")
        #expect(token != bare && token != next)
        let device = identities.device(of: app, token: bare)
        #expect(identities.device(of: app, token: token) == device)
        #expect(identities.device(of: app, token: next) == device)
        #expect(codec.text(of: token) == "\(fid):APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx")
        #expect(codec.text(of: bare) == fid)
    }

    @Test(
        arguments: [
            // Another first letter, a shorter and a longer id, a foreign character, no rest, another separator.
            "gHk3b2Pq-1x_ZZaabbccdd:APA91b", "cHk3b2Pq-1x_ZZaabbccd:APA91b", "cHk3b2Pq-1x_ZZaabbccdde:APA91b",
            "cHk3b2Pq-1x.ZZaabbccdd:APA91b", "cHk3b2Pq-1x_ZZaabbccdd:", "cHk3b2Pq-1x_ZZaabbccdd_APA91b",
            "APA91bHun4MxP5egoKMwt2KZFBaFUH", "x",
        ])
    func `Nothing is concluded from a token of another form`(_ text: String) throws {
        #expect(try codec.address(text).identityByteCount == nil)
    }

    @Test func `An address has 1 to 2,048 printable characters`() throws {
        #expect(try codec.address(String(repeating: "a", count: 2048)).byteCount == 2048)
        for text in ["", String(repeating: "a", count: 2049), "with space", "a\"b", "a\\b", "a\nb", "é", "a\u{7f}"] {
            #expect(throws: AddressFault.self) { try codec.address(text) }
            #expect(throws: AddressFault.self) { try codec.address(givenAs: text) }
        }
        #expect(try codec.address(pastedAs: " \"\(fid)\"\n") == codec.address(fid))
        #expect(throws: AddressFault.self) { try codec.address(pastedAs: "cHk3b2…") }
        #expect(throws: AddressFault.self) { try codec.address(pastedAs: " ") }
    }

    @Test func `A fault never repeats the text`() {
        for text in ["secret token", String(repeating: "secret", count: 400)] {
            #expect { try codec.address(pastedAs: text + "…") } throws: { !"\($0)".contains("secret") }
            #expect { try codec.address(text) } throws: { !"\($0)".contains("secret") }
        }
    }

    @Test func `All addresses are of the kind alert`() {
        #expect(codec.kinds == [.alert])
        for type in codec.types.all { #expect(codec.kind(of: type, values: nil) == .alert) }
    }
}
