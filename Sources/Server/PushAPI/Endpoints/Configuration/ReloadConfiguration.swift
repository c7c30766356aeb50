package import PushModel

/// `POST /v1/reload`: reads the configuration again, as SIGHUP does.
package struct ReloadConfiguration: Endpoint {
    package static let operation = Operation(
        .post, at: "/v1/reload", id: "reloadConfiguration", access: .role(.operate), subject: "Server",
        summary: "Reads the configuration again; reloaded is false if it has faults. Credentials are read afterwards.",
        records: [.operatorReload])

    private let control: any ConfigurationControl

    package init(control: any ConfigurationControl) {
        self.control = control
    }

    package func answer(_ input: NoInput, for caller: Caller) async throws -> Reply<ReloadAnswer> {
        guard caller.apps == nil else { throw Problem.limited(caller) }
        guard let answer = await control.reload() else { throw Problem.starting }
        return Reply(answer, change: Self.change(answer))
    }

    /// The names of the changed settings. Their values may be addresses.
    package static func change(_ answer: ReloadAnswer) -> OperatorChange {
        let changed = (answer.changed + answer.needsRestart).map(\.path).sorted()
        return OperatorChange(
            .operatorReload, of: changed.isEmpty ? "no setting" : changed.joined(separator: ", "),
            after: answer.reloaded ? answer.needsRestart.isEmpty ? "in force" : "in force after a restart" : "refused")
    }
}
