package import PushModel

/// `GET /v1/caller`: the caller itself.
///
/// The console asks it after the sign-in, so that it offers only what the key may do.
package struct GetCaller: ImmediateEndpoint {
    package static let operation = Operation(
        .get, at: "/v1/caller", id: "getCaller", access: .roles(Role.allCases), subject: "Server",
        summary: "Returns the name of the key that signed the request, and its rights.")

    package init() {}

    package func answerNow(_ input: NoInput, for caller: Caller) -> Reply<CallerAnswer> {
        Reply(
            CallerAnswer(
                name: caller.name, roles: Role.allCases.filter { caller.allows($0) },
                apps: caller.apps.map { $0.map(\.name).sorted() }))
    }
}

/// A caller and its rights.
package struct CallerAnswer: JSONAnswer, Equatable {
    package let name: String
    /// The roles, with those that they include.
    package let roles: [Role]
    /// The apps to which the caller is limited; left out if it has rights for all apps.
    package let apps: [String]?

    package static var about: [String: String] {
        [
            "name": "The name of the key.", "roles": "The roles of the key, with those that they include.",
            "apps": "The apps to which the key is limited; left out if it is for all apps.",
        ]
    }
}

extension Role: SchemaChoice {}
