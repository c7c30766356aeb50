package import PushModel

/// `GET /v1/configuration`: the settings in force, and what in the file differs.
package struct GetConfiguration: Endpoint {
    package static let operation = Operation(
        .get, at: "/v1/configuration", id: "getConfiguration", access: .role(.observe), subject: "Server",
        summary: "Returns the settings in force, and how the file differs from them.")

    private let control: any ConfigurationControl

    package init(control: any ConfigurationControl) {
        self.control = control
    }

    package func answer(_ input: NoInput, for caller: Caller) async throws -> Reply<ConfigurationAnswer> {
        guard caller.apps == nil else { throw Problem.limited(caller) }
        guard let answer = await control.configuration() else { throw Problem.starting }
        return Reply(answer)
    }
}
