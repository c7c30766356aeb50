package import PushModel

/// `GET /v1/findings`: what is wrong with the running server.
package struct GetFindings: Endpoint {
    package static let operation = Operation(
        .get, at: "/v1/findings", id: "listFindings", access: .role(.observe), subject: "Server",
        summary: "Returns what is wrong and what to do, the gravest first; for a key of some apps, what concerns them.")

    private let source: any FindingSource

    package init(source: any FindingSource) {
        self.source = source
    }

    package func answer(_ input: NoInput, for caller: Caller) async throws -> Reply<FindingList> {
        let findings = RunningDiagnosis(try await source.facts()).findings
        guard caller.apps != nil else { return Reply(FindingList(findings)) }
        return Reply(
            FindingList(
                findings.filter { finding in
                    guard let name = finding.app, let app = AppID(name) else { return finding.isAboutAll }
                    return caller.has(app)
                }))
    }
}

extension Finding {
    /// Whether it holds up all apps, which `/readyz` tells everybody.
    fileprivate var isAboutAll: Bool { place == nil && severity == .fault && code == .notReady }
}
