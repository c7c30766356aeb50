import TestTraits
import Testing

/// Tests of clients that occupy what others need, with the whole program.
@Suite(.waits) struct HTTPConnectionLimitTests {
    @Test(arguments: ["idle_connections", "busy_connections", "slow_requests", "event_streams", "connection_resets"])
    func `Clients that take and do not give keep nobody out`(_ scene: String) async throws {
        try await PythonScene.run("http_connection_limits", scene)
    }

    @Test(arguments: ["endless_bodies", "unfinished_bodies", "unread_answers"])
    func `The memory of clients that send without end or do not read is bounded`(_ scene: String) async throws {
        try await PythonScene.run("http_memory", scene)
    }
}
