package import PushModel

/// `GET /v1/caller`: the caller itself.
///
/// The console asks it after the sign-in, so that it offers only what the key may do.
package struct GetCaller: ImmediateEndpoint {
    package static let operation = Operation(
        .get, at: "/v1/caller", id: "getCaller", access: .roles(Role.allCases), subject: "Server",
        summary: "Returns the name of the key that signed the request, and its rights.")

    private let apps: AppCatalog

    package init(apps: AppCatalog) {
        self.apps = apps
    }

    package func answerNow(_ input: NoInput, for caller: Caller) -> Reply<CallerAnswer> {
        let families = apps.families(for: caller).map { family in
            CallerAnswer.Family(
                name: family.name.name,
                members: family.members.map { .init(app: $0.name, service: apps.app($0)?.service ?? "") })
        }
        return Reply(
            CallerAnswer(
                name: caller.name, roles: Role.allCases.filter { caller.allows($0) },
                apps: caller.apps.map { $0.map(\.name).sorted() }, families: families.isEmpty ? nil : families,
                takesLocalTimes: apps.takesLocalTimes ? true : nil))
    }
}

/// A caller and its rights.
package struct CallerAnswer: JSONAnswer, Equatable {
    package let name: String
    /// The roles, with those that they include.
    package let roles: [Role]
    /// The apps to which the caller is limited; left out if it has rights for all apps.
    package let apps: [String]?
    /// The families to all of whose apps the caller has a right; left out if there are none.
    package let families: [Family]?
    /// True if messages can go out at a local time; left out if they cannot.
    package let takesLocalTimes: Bool?

    package enum CodingKeys: String, CodingKey {
        case name, roles, apps, families
        case takesLocalTimes = "at_local"
    }

    package struct Family: Codable, Sendable, Equatable {
        package let name: String
        package let members: [Member]
    }

    /// An app of a family.
    package struct Member: Codable, Sendable, Equatable {
        package let app: String
        /// The word of its push service in the configuration.
        package let service: String
    }

    package static var about: [String: String] {
        [
            "name": "The name of the key.", "roles": "The roles of the key, with those that they include.",
            "apps": "The apps to which the key is limited; left out if it is for all apps.",
            "families": "The families of whose apps the key has all; left out without any.",
            "at_local": "True if messages can go out at a local time; left out if they cannot.",
        ]
    }
}

extension Role: SchemaChoice {}
