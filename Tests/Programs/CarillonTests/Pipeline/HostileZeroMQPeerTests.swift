import TestTraits
import Testing

/// Tests of ZeroMQ peers that try to crash or exhaust the process.
@Suite(.waits) struct HostileZeroMQPeerTests {
    @Test func `An HTTP request is not accepted as a message`() async throws {
        try await PythonScene.run("hostile_zeromq_peers", "http_request")
    }

    @Test func `A connection with a routing id that is too long is closed`() async throws {
        try await PythonScene.run("hostile_zeromq_peers", "long_routing_ids")
    }

    @Test func `The connection of an endless message is closed`() async throws {
        try await PythonScene.run("hostile_zeromq_peers", "endless_message")
    }

    @Test func `The memory of endless messages in many connections is limited`() async throws {
        try await PythonScene.run("hostile_zeromq_peers", "many_endless_messages")
    }

    @Test func `A connection that is reset while it is not read does no harm`() async throws {
        try await PythonScene.run("hostile_zeromq_peers", "reset_connections")
    }

    @Test func `Clients that end at the worst moment do no harm`() async throws {
        try await PythonScene.run("hostile_zeromq_peers", "killed_clients")
    }
}
