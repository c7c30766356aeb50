import PushLoop
import TestSupport

@testable import PushSimulator

let noon = WallTime(milliseconds: 1_767_225_600_000)

func after(_ seconds: Int64) -> WallTime { WallTime(milliseconds: noon.milliseconds + seconds * 1000) }

/// A client of the simulator's machine with one connection, which sends valid requests by default.
final class Provider {
    var machine: SimulatorMachine
    var connection: ProviderConnection
    private var stream: Int32 = 1
    private var answer = AnswerText()

    static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    static let payload = #"{"aps":{"alert":"Hello"}}"#
    static let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"

    init(
        _ settings: SimulatorSettings = Provider.settings(), script: String = "{}",
        certificate: CertificateIdentity? = nil, environment: APNsEnvironment = .production,
        services: ProviderConnection.Services = .all, signatures: SignatureCheck? = nil
    ) throws {
        machine = SimulatorMachine(
            settings, script: try FaultScript(Array(script.utf8)), signatures: signatures ?? Provider.check, now: noon)
        let arrival = machine.arrive(at: .provider)
        connection = machine.open(arrival, environment: environment, services: services, certificate: certificate)
    }

    static func settings(_ change: (inout SimulatorSettings) -> Void = { _ in }) -> SimulatorSettings {
        var settings = SimulatorSettings()
        settings.records = 1000
        settings.retainedBytes = 1 << 20
        settings.keys = [
            ProviderKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ"),
            ProviderKey(keyID: "SANDBOX000", teamID: "DEF123GHIJ", environment: .sandbox),
            ProviderKey(keyID: "TOPICS0000", teamID: "DEF123GHIJ", topics: ["com.example.shop"]),
            ProviderKey(keyID: "OTHERTEAM0", teamID: "TEAM000002"),
        ]
        change(&settings)
        return settings
    }

    /// A replacement for ECDSA: a signature is valid if it equals pseudorandom bytes that depend on the key id and the
    /// input.
    static func check(_ keyID: String, _ input: [UInt8], _ signature: [UInt8]) -> Bool? {
        signature == sign(keyID, input)
    }

    static func sign(_ keyID: String, _ input: [UInt8]) -> [UInt8] {
        let seed = ByteView.lending(Array(keyID.utf8) + input) { $0.hash() }
        var random = SeededRandom(seed: seed)
        return (0..<64).map { _ in UInt8(truncatingIfNeeded: random.next() >> 8) | 1 }
    }

    static func jwt(
        key: String = "ABC123DEFG", team: String = "DEF123GHIJ", at: WallTime = noon, header: String? = nil,
        claims: String? = nil, signature: ([UInt8]) -> [UInt8] = { $0 }
    ) -> String {
        let head = Base64.encodeURL(Array((header ?? #"{"alg":"ES256","kid":"\#(key)"}"#).utf8))
        let body = Base64.encodeURL(Array((claims ?? #"{"iss":"\#(team)","iat":\#(at.seconds)}"#).utf8))
        let input = head + [UInt8(ascii: ".")] + body
        let signed = Base64.encodeURL(signature(sign(key, input)))
        return String(decoding: input + [UInt8(ascii: ".")] + signed, as: UTF8.self)
    }

    static func headers(_ changes: [String: String?] = [:]) -> [(String, String)] {
        var headers = [
            ":method": "POST", ":scheme": "https", ":authority": "api.push.apple.com", ":path": "/3/device/\(token)",
            "authorization": "bearer \(jwt())", "apns-topic": "com.example.shop", "apns-push-type": "alert",
            "apns-priority": "10", "apns-expiration": "1767229200", "apns-id": id,
        ]
        for (name, value) in changes { headers[name] = value }
        return headers.sorted { $0.key < $1.key }
    }

    /// Sends the default request with headers changed, added or (with nil) removed.
    @discardableResult
    func send(
        _ changes: [String: String?] = [:], _ payload: String = Provider.payload, at now: WallTime = noon
    ) -> Reaction {
        send(Self.headers(changes), Array(payload.utf8), at: now)
    }

    @discardableResult
    func send(_ headers: [(String, String)], _ payload: [UInt8], at now: WallTime = noon) -> Reaction {
        // The views must outlive the call, so all text is stored in one buffer.
        var memory: [UInt8] = []
        var places: [(Range<Int>, Range<Int>)] = []
        func put(_ bytes: some Sequence<UInt8>) -> Range<Int> {
            let start = memory.count
            memory.append(contentsOf: bytes)
            return start..<memory.count
        }
        for (name, value) in headers { places.append((put(name.utf8), put(value.utf8))) }
        let body = put(payload)
        defer { stream += 2 }
        return ByteView.lending(memory) { view in
            var fields = RequestFields()
            for (name, value) in places {
                fields.take(
                    name: view.slice(from: name.lowerBound, to: name.upperBound),
                    value: view.slice(from: value.lowerBound, to: value.upperBound))
            }
            return machine.receive(
                fields, body: view.slice(from: body.lowerBound, to: body.upperBound), stream: stream, on: &connection,
                now: now)
        }
    }

    /// Returns the answer as a client sees it.
    func text(of reaction: Reaction) -> (headers: [String: String], body: String) {
        machine.render(reaction, into: &answer)
        var headers: [String: String] = [:]
        answer.forEachHeader { headers[$0.description] = String(decoding: $1, as: UTF8.self) }
        return (headers, String(decoding: answer.body, as: UTF8.self))
    }

    func reconnect(environment: APNsEnvironment = .production, certificate: CertificateIdentity? = nil) {
        let arrival = machine.arrive(at: .provider)
        connection = machine.open(arrival, environment: environment, certificate: certificate)
        stream = 1
    }

    func control(
        _ method: String, _ path: String, _ query: String = "", _ body: String = "", at now: WallTime = noon
    ) -> (status: UInt16, text: String) {
        let response = machine.control(
            ControlRequest(method: method, path: path, query: query, body: Array(body.utf8)), now: now)
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    /// The warnings of the last record.
    var warnings: Warnings { Warnings(rawValue: machine.log.ring[machine.log.ring.newest].warnings) }
    var lastRecord: Record { machine.log.ring[machine.log.ring.newest] }
}
