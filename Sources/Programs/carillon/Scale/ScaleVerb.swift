import FoundationEssentials
import PushAPI
import PushConfiguration
import PushModel

/// `carillon scale`: shows the connections of the gateways of a running Carillon, and changes how many an app may have.
enum ScaleVerb {
    static let verb = Verb(
        name: "scale", summary: "show the connections of the gateways, and change their number",
        words: [Word("APP", about: "an app of the configuration; all if left out", isOptional: true)],
        options: [
            Option(
                "connections", value: "MIN..MAX",
                about: "scale the app's gateway to this number of connections; 4 means 4..4"),
            Option(
                "node", value: "NAME",
                about: "a node of the cluster; without it, all are shown, and all live nodes divide --connections"),
            Option("data", value: "DIR", about: "the data directory of the running Carillon"),
            Option(
                "config", value: "FILE",
                about: "the configuration with the data directory (else CARILLON_CONFIG, or the usual places)"),
            Option("json", about: "print JSON"),
        ],
        examples: [
            ("carillon scale", "show all gateways with their connections"),
            ("carillon scale shop", "show the gateway of one app"),
            ("carillon scale shop --connections 2..8", "scale to 2 to 8 connections without a restart"),
            ("carillon scale shop --node b", "show the gateway of one app on one node of a cluster"),
            ("carillon scale shop --node b --connections 4", "scale on one node of a cluster"),
        ]
    ) { arguments in
        let app = try arguments.wordIfGiven("APP").map { name throws(Failure) in
            guard let app = AppID(name) else {
                throw Failure(.usage, "'\(name)' is not an app id: 1 to 64 letters, digits, '.', '_' and '-'")
            }
            return app
        }
        let wanted = try arguments.text("connections").map(connections)
        if wanted != nil, app == nil {
            throw Failure(.usage, "'--connections' needs an app: carillon scale shop --connections 2..8")
        }
        let node = try NodeOption.node(arguments)
        let client = ControlClient(
            dataDirectory: try Configuration.dataDirectory(
                flag: arguments.text("data"), file: arguments.text("config")))
        let gateways: [GatewayAnswer]
        switch (app, wanted) {
        case (let app?, let wanted?):
            let place = node.map { ",\"node\":\"\($0)\"" } ?? ""
            let body = "{\"min\":\(wanted.lowerBound),\"max\":\(wanted.upperBound)\(place)}"
            gateways = [try await client.ask("PUT", at: "/v1/gateways/\(app)/connections", body: Array(body.utf8))]
        case (let app?, nil):
            gateways = [try await client.ask("GET", at: "/v1/gateways/\(app)\(NodeOption.query(node))")]
        case (nil, _):
            gateways = try await all(of: node, from: client)
        }
        if arguments.has("json") {
            let answer = app == nil ? APIAnswer.json(GatewayList(gateways: gateways)) : .json(gateways.first)
            Terminal.output.write(String(decoding: answer.body, as: UTF8.self))
        } else {
            Terminal.output.write(GatewayTable(Terminal.output).text(gateways, wereScaled: wanted != nil))
        }
        return .done
    }

    private static func all(of node: NodeID?, from client: ControlClient) async throws -> [GatewayAnswer] {
        var gateways: [GatewayAnswer] = []
        var cursor: String?
        repeat {
            let query = APIQuery.encoded([("node", node?.description), ("after", cursor)])
            let page = try await client.ask("GET", at: "/v1/gateways\(query)", for: GatewayList.self)
            gateways += page.gateways
            cursor = page.next.text
        } while cursor != nil
        return gateways
    }

    /// Parses a range of connections: `2..8`, or `4` for `4..4`.
    static func connections(_ text: String) throws(Failure) -> ClosedRange<Int> {
        let most = Configuration.maxConnections
        let parts = text.split(separator: "..", omittingEmptySubsequences: false).map { part in
            part.utf8.allSatisfy { (48...57).contains($0) } ? Int(part) : nil
        }
        guard let first = parts.first, let least = first, parts.count <= 2, let last = parts.last, let highest = last,
            (1...most).contains(least), (1...most).contains(highest)
        else {
            throw Failure(
                .usage, "'--connections' must be a range such as 2..8, or a number, from 1 to \(most), not '\(text)'")
        }
        guard least <= highest else {
            throw Failure(.usage, "'--connections \(text)': the first number must not be larger than the second")
        }
        return least...highest
    }
}
