import PushTime
import PushWire
import Testing

@testable import carillon

/// What `carillon keys show` shows of a file, whatever the push service that described it.
@Suite struct KeysShowTests {
    private static let now = WallTime(milliseconds: 1_800_000_000_000)
    private static let file = CredentialFileDescription(
        content: "a key of the stub (TEXT)",
        facts: [
            .text("owner", "ada"), .begins(WallTime(milliseconds: now.milliseconds - 1000)),
            .ends(WallTime(milliseconds: now.milliseconds + 40 * 86_400_000)),
        ],
        next: "name it in the configuration of an app:\n  credential: { stub: \"stub.key\" }",
        members: ["holds": "stub_key", "credential": ["owner": "ada"]])

    private var verb: KeysShowVerb { KeysShowVerb(path: "stub.key", file: Self.file, now: Self.now) }

    @Test func `The text is that of the service, with the dates in words`() {
        let text = verb.text(on: Terminal(descriptor: -1))
        #expect(
            text == """
                stub.key contains a key of the stub (TEXT).

                  owner    ada
                  expires  in 40 days, at 2027-02-24T08:00:00Z

                Next: name it in the configuration of an app:
                  credential: { stub: "stub.key" }

                """)
    }

    @Test func `The members in JSON are those of the service, and the file`() {
        #expect(verb.json == #"{"credential":{"owner":"ada"},"file":"stub.key","holds":"stub_key"}"# + "\n")
    }
}
