import FoundationEssentials
import TestTraits
import Testing

/// Tests of the producers in `Tools/examples` with a running Carillon and the simulated push service.
@Suite(.waits) struct ProducersTests {
    /// `Tools/setup` installs what these need. Java is optional, because it is large.
    private static let languages = ["c", "perl", "php", "python", "ruby"]
    private static let scenes = ["statuses", "delayed_ack", "lost_ack", "late_server", "busy_server"]

    private static var hasJava: Bool {
        ["/usr/bin/java", "/usr/share/java/jzmq.jar"].allSatisfy { FileManager.default.fileExists(atPath: $0) }
    }

    @Test(arguments: languages, scenes)
    func `A producer delivers its message once, whatever happens to the ack`(
        _ language: String, scene: String
    ) async throws {
        try await PythonScene.run("producer_examples", scene, variables: ["LANGUAGE=\(language)"])
    }

    @Test(.enabled(if: hasJava, "Java or libzmq-java is not installed"), arguments: scenes)
    func `The producer in Java delivers its message once`(_ scene: String) async throws {
        try await PythonScene.run("producer_examples", scene, variables: ["LANGUAGE=java"])
    }
}

/// Tests of the clients in `Tools/examples` that use HTTP only.
@Suite(.waits) struct ClientExampleTests {
    private static let scenes = ["statuses", "lost_answers", "busy_server", "watch"]

    private static var hasGo: Bool { FileManager.default.fileExists(atPath: "/usr/bin/go") }

    @Test(arguments: scenes)
    func `The client in JavaScript delivers its message once, and misses no event`(_ scene: String) async throws {
        try await PythonScene.run("client_examples", scene, variables: ["LANGUAGE=node"])
    }

    /// `Tools/setup` does not install Go, because it is large.
    @Test(.enabled(if: hasGo, "Go is not installed"), arguments: scenes)
    func `The client in Go delivers its message once, and misses no event`(_ scene: String) async throws {
        try await PythonScene.run("client_examples", scene, variables: ["LANGUAGE=go"])
    }
}

/// Tests of the subscriber in `Tools/examples`: it ends with no gap.
@Suite(.waits) struct SubscriberTests {
    @Test func `A subscriber that is stopped during a flood and loses its connection ends with no gap`() async throws {
        try await PythonScene.run("subscriber_example", "stopped_subscriber")
    }

    @Test func `A subscriber that misses the last events of a topic finds them by the heartbeat`() async throws {
        try await PythonScene.run("subscriber_example", "lost_last_events")
    }

    @Test func `A subscriber prints nothing behind a gap before the gap is filled`() async throws {
        try await PythonScene.run("subscriber_example", "replay_outage")
    }

    @Test func `A subscriber goes on after a kill of Carillon, and after its own restart`() async throws {
        try await PythonScene.run("subscriber_example", "server_restart")
    }
}
