import Testing

@testable import PushLoop

@Suite struct SecretTests {
    private struct Settings {
        let name = "shop"
        let password = Secret("hunter2")
        let key: Secret<[UInt8]>? = Secret(Array("hunter2".utf8))
    }

    private enum Credential {
        case password(Secret<String>)
    }

    @Test("No form of printing shows a secret") func noWayOfPrintingShowsIt() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        dump(Settings(), to: &dumped)
        dump(Credential.password(secret), to: &dumped)
        dump([Optional(secret)], to: &dumped)
        let texts = [
            "\(secret)", String(describing: secret), String(reflecting: secret), secret.description,
            secret.debugDescription, "\([secret])", String(reflecting: Optional(secret)), "\(Settings())",
            String(reflecting: Credential.password(secret)), "\(secret as Any)", dumped,
        ]
        for text in texts {
            #expect(text.contains("<secret>"))
            #expect(!text.contains("hunter2"))
        }
        // The bytes of the key do not appear as numbers either. A dump of an array writes each on its own line.
        #expect(!dumped.contains("- 104\n"))
        var control = ""
        dump(Array("hunter2".utf8), to: &control)
        #expect(control.contains("- 104\n"))
    }

    @Test("The mirror of a secret has no children") func mirrorHasNoChildren() {
        let mirror = Mirror(reflecting: Secret(42))
        #expect(mirror.children.isEmpty)
        #expect(mirror.superclassMirror == nil)
    }

    /// Messages and fields accept only ``LogRepresentable`` values, so code that logs a secret does not compile.
    @Test("A secret is not LogRepresentable") func secretIsNotLogRepresentable() {
        #expect(!(Secret("x") as Any is any LogRepresentable))
        #expect(!(Secret(LogValue.int(1)) as Any is any LogRepresentable))
        #expect(!([Secret(1)] as Any is any LogRepresentable))
        #expect("x" as Any is any LogRepresentable)
    }

    @Test("withRevealed returns the secret value") func whoNeedsItCanOpenIt() {
        #expect(Secret("hunter2").withRevealed { $0.count } == 7)
    }
}
