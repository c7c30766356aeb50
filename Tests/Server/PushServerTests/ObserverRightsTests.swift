import PushConfiguration
import PushPipeline
import ServerTestSupport
import Testing

@testable import PushServer

@Suite struct ObserverRightsTests {
    @Test(arguments: [
        ("tcp://127.0.0.1:0", "", false), ("tcp://127.0.0.1:0", "curve: { secret_key_file: 's.curve' }", true),
        // Only TCP sockets require keys, and `events.publish` uses TCP here.
        ("ipc://replay.sock", "curve: { secret_key_file: 's.curve' }", true),
        ("off", "curve: { secret_key_file: 's.curve' }", true),
    ])
    func `With CURVE, observers are identified by their keys on every replay socket`(
        replay: String, curve: String, isNamed: Bool
    ) throws {
        let key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
        let clients = "clients: { grafana: { public_key: '\(key)', observe: true } }"
        let security = curve.isEmpty ? "" : "security: { \(curve), \(clients) },"
        let parsed = try parseConfiguration("{ events: { replay: '\(replay)' }, \(security) \(minimalApp) }")
        #expect(parsed.configuration.observers == (isNamed ? .withKeys([key]) : .everybody))
    }
}
