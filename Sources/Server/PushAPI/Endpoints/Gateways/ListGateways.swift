package import PushModel

/// `GET /v1/gateways`: the gateways of all apps.
package struct ListGateways: Endpoint {
    /// There are seldom more apps, so that one page usually has them all.
    package static let maxPageSize = 1000

    package struct Input: EndpointInput {
        let node: NodeID?
        let after: AppID?
        let limit: Int

        package init(_ read: inout InputReader) {
            node = read.query("node", as: .node, about: "A node of the cluster; all nodes together by default.")
            after = read.query("after", as: .app, about: "The next of an earlier page.")
            limit =
                read.query("limit", as: .integer(1...maxPageSize), about: "The size of the page; 1000 by default.")
                ?? maxPageSize
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/gateways", id: "listGateways", access: .role(.observe), subject: "Gateways",
        summary: "Returns the gateways with their connections, sorted by app.",
        problems: [.unknownNode])

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayList> {
        let all = try await control.gateways(of: input.node)
        let own = all.filter { one in AppID(one.app).map { caller.has($0) } ?? false }
        // The cursor is the app of the last one. Apps come and go with reloads, and the order stays.
        let rest = own.drop { one in input.after.map { one.app <= $0.name } ?? false }
        let page = rest.prefix(input.limit)
        return Reply(
            GatewayList(gateways: Array(page), next: PageCursor(rest.count > page.count ? page.last?.app : nil)))
    }
}
