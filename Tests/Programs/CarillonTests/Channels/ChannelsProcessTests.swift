import TestSupport
import TestTraits
import Testing

/// Tests of `carillon channels` as a process.
@Suite(.waits) struct ChannelsProcessTests {
    @Test func `Channels are created, listed, shown and deleted`() async throws {
        let scene = try await TrialScene()
        func channels(_ arguments: String...) async throws -> ChildProcess.Ended {
            try await scene.carillon(["channels"] + arguments + scene.key)
        }
        let none = try await channels("list")
        #expect(none.status == 0 && none.output.contains("com.example.shop has no channels"), "\(none.errors)")
        let made = try await channels("create", "--json")
        #expect(made.status == 0)
        let id = try #require(try object(made)["channel"]?.string)
        let words = try await channels("create", "--keep", "none")
        #expect(words.output.hasPrefix("Created the channel "))
        let list = try await channels("list", "--json")
        let ids = try #require(try object(list)["channels"]?.strings)
        #expect(ids.count == 2 && ids.contains(id))
        #expect(try await channels("list").output.contains("com.example.shop has 2 channels:\n  channel\n"))
        let shown = try await channels("show", id)
        #expect(shown.output.contains(id) && shown.output.contains("newest") && shown.output.contains("LiveActivity"))
        let other = try #require(ids.first { $0 != id })
        #expect(try object(try await channels("show", other, "--json"))["keep"]?.string == "none")
        let deleted = try await channels("delete", id)
        #expect(deleted.status == 0 && deleted.output == "Deleted the channel \(id).\n")
        let gone = try await channels("show", id)
        #expect(gone.status == 1 && gone.errors.contains("400 ChannelNotRegistered"), "\(gone.errors)")
        #expect(gone.errors.contains("Next: forget the channel"))
    }

    @Test func `Each failure has an exit code`() async throws {
        let scene = try await TrialScene()
        let list = ["channels", "list"]
        let team = scene.key.map { $0 == "CARILLON01" ? "CARILLON02" : $0 }
        let refused = try await scene.carillon(list + team + ["--json"])
        #expect(refused.status == 77)
        #expect(try object(refused)["reason"]?.string == "InvalidProviderToken")
        #expect(try await scene.carillon(list + scene.binary).status == 78)
        #expect(try await scene.carillon(["channels", "show", "not base64!"] + scene.key).status == 65)
        #expect(try await scene.carillon(["channels", "create", "--keep", "all"] + scene.key).status == 64)
        try await scene.fault("answer: { status: 503, reason: 'ServiceUnavailable' }")
        #expect(try await scene.carillon(list + scene.key).status == 75)
        try await scene.fault("on: 'connect', refuse: true")
        let unreachable = try await scene.carillon(list + scene.key)
        #expect(unreachable.status == 69 && unreachable.errors.contains("nothing was sent"), "\(unreachable.errors)")
        try await scene.fault("on: 'connect', silence: true")
        let silent = try await scene.carillon(list + scene.key + ["--timeout", "300ms"])
        #expect(silent.status == 75 && silent.errors.contains("timed out: nothing could be sent"), "\(silent.errors)")
        try await scene.tell("DELETE", "/faults", "")
        let certificate = try await scene.carillon(list + scene.certificate)
        #expect(certificate.status == 0, "\(certificate.errors)")
    }
}
