package import PushModel

/// `GET /v1/stats`: the statistics of the running server.
package struct GetStatistics: Endpoint {
    package static let operation = Operation(
        .get, at: "/v1/stats", access: .role(.observe), subject: "Server",
        summary: "Returns counters, backlogs and states; a client computes rates from two answers.")

    private let source: any PipelineStatistics

    package init(source: any PipelineStatistics) {
        self.source = source
    }

    package func answer(_ input: NoInput, for caller: Caller) async -> Reply<StatsAnswer> {
        var answer = await source.snapshot()
        if let apps = caller.apps {
            let names = Set(apps.map(\.name))
            answer.apps.removeAll { !names.contains($0.app) }
        }
        return Reply(answer)
    }
}
