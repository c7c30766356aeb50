package import PushModel

/// `GET /v1/stats`: the statistics of the running server.
package struct GetStatistics: Endpoint {
    package struct Input: EndpointInput {
        let node: NodeID?
        let hasHistory: Bool

        package init(_ read: inout InputReader) {
            node = read.query("node", as: .node, about: "A node of the cluster; all nodes together by default.")
            hasHistory =
                read.query(
                    "history", as: .flag,
                    about: "Adds the last quarter of an hour, except for a key of some apps.") ?? false
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/stats", id: "getStats", access: .role(.observe), subject: "Server",
        summary: "Returns counters, backlogs and states; a client computes rates from two answers.",
        problems: [.unknownNode])

    private let source: any PipelineStatistics

    package init(source: any PipelineStatistics) {
        self.source = source
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<StatsAnswer> {
        guard let apps = caller.apps else {
            return Reply(try await source.snapshot(of: input.node, hasHistory: input.hasHistory))
        }
        // The past has the rates of all apps together.
        var answer = try await source.snapshot(of: input.node, hasHistory: false)
        let names = Set(apps.map(\.name))
        answer.apps.removeAll { !names.contains($0.app) }
        return Reply(answer)
    }
}
