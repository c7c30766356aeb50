import JSON5
import PushModel

/// `/v1/gateways`: what the gateways do, and how many connections they have.
enum GatewayRoutes {
    static func all(_ control: any GatewayControl) -> [ControlRoute] {
        [
            ControlRoute(.get, "/v1/gateways") { _ in GatewayList(gateways: await control.gateways()) },
            ControlRoute(.get, "/v1/gateways/{app}") { request in
                let app = try app(request)
                guard let status = await control.gateway(app) else { throw ControlFault.unknownApp(app.name) }
                return status
            },
            ControlRoute(.put, "/v1/gateways/{app}/connections") { request in
                let app = try app(request)
                let range = try connections(request.body)
                guard let status = try await control.scale(app, to: range) else {
                    throw ControlFault.unknownApp(app.name)
                }
                return status
            },
        ]
    }

    private static func app(_ request: RoutedRequest) throws(ControlFault) -> AppID {
        guard let app = AppID(request.parameter("app")) else { throw .unknownApp(request.parameter("app")) }
        return app
    }

    /// `{"min":2,"max":8}`.
    private static func connections(_ body: [UInt8]) throws(ControlFault) -> ClosedRange<Int> {
        let rule = "send {\"min\":2,\"max\":8}, from 1 to \(Configuration.mostConnections)"
        let tree: JSONTree
        do {
            tree = try JSON5Reader.read(body)
        } catch {
            throw .badRequest("the body is no JSON: \(error); \(rule)")
        }
        guard let members = tree.members else { throw .badRequest("the body is \(tree.kind); \(rule)") }
        if let other = members.first(where: { $0.key != "min" && $0.key != "max" }) {
            throw .badRequest("there is no key \"\(other.key)\" here; \(rule)")
        }
        let allowed = 1...Int64(Configuration.mostConnections)
        guard members.count == 2, let least = tree["min"]?.integer, let most = tree["max"]?.integer,
            allowed.contains(least), allowed.contains(most)
        else { throw .badRequest("min and max must both be there, whole numbers: \(rule)") }
        guard least <= most else { throw .badRequest("min is \(least) and max \(most); min may be at most max") }
        return Int(least)...Int(most)
    }
}
