import JSON5
import PushConfiguration
import PushModel

/// `/v1/gateways`: the state of the gateways, and the number of their connections.
package enum GatewayRoutes {
    package static func all(_ control: any GatewayControl) -> [AdminRoute] {
        [
            AdminRoute(.get, at: "/v1/gateways") { _ in GatewayList(gateways: await control.gateways()) },
            AdminRoute(.get, at: "/v1/gateways/{app}") { request in
                let app = try app(request)
                guard let status = await control.gateway(app) else { throw AdminFault.unknownApp(app.name) }
                return status
            },
            AdminRoute(.put, at: "/v1/gateways/{app}/connections") { request in
                let app = try app(request)
                let range = try connections(request.body)
                guard let status = try await control.scale(app, to: range) else {
                    throw AdminFault.unknownApp(app.name)
                }
                return status
            },
            pause(control, "pause", isPaused: true), pause(control, "resume", isPaused: false),
        ]
    }

    private static func pause(_ control: any GatewayControl, _ word: String, isPaused: Bool) -> AdminRoute {
        AdminRoute(.post, at: "/v1/gateways/{app}/\(word)") { request in
            let app = try app(request)
            guard let status = try await control.setPaused(isPaused, app: app) else {
                throw AdminFault.unknownApp(app.name)
            }
            return status
        }
    }

    private static func app(_ request: AdminRequest) throws(AdminFault) -> AppID {
        guard let app = AppID(request.parameter("app")) else { throw .unknownApp(request.parameter("app")) }
        return app
    }

    /// Parses a body such as `{"min":2,"max":8}`.
    private static func connections(_ body: [UInt8]) throws(AdminFault) -> ClosedRange<Int> {
        let rule = "send {\"min\":2,\"max\":8}, from 1 to \(Configuration.maxConnections)"
        let tree: JSONTree
        do {
            tree = try JSON5Reader.read(body)
        } catch {
            throw .badRequest("the body is not JSON: \(error); \(rule)")
        }
        guard let members = tree.members else { throw .badRequest("the body is \(tree.kind), not an object; \(rule)") }
        if let other = members.first(where: { $0.key != "min" && $0.key != "max" }) {
            throw .badRequest("there is no key \"\(other.key)\" here; \(rule)")
        }
        let allowed = 1...Int64(Configuration.maxConnections)
        guard members.count == 2, let least = tree["min"]?.integer, let most = tree["max"]?.integer,
            allowed.contains(least), allowed.contains(most)
        else { throw .badRequest("min and max are required once, as whole numbers: \(rule)") }
        guard least <= most else {
            throw .badRequest("min is \(least) and max is \(most); min must not be greater than max")
        }
        return Int(least)...Int(most)
    }
}
