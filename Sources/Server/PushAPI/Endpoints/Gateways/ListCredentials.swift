package import PushModel

/// `GET /v1/credentials`: the credentials of the apps and of the HTTP port, without anything secret.
package struct ListCredentials: Endpoint {
    package static let maxPageSize = 1000

    package struct Input: EndpointInput {
        let app: AppID?
        let after: AppID?
        let limit: Int

        package init(_ read: inout InputReader) {
            app = read.query("app", as: .app, about: "Only the credential of this app.")
            after = read.query("after", as: .app, about: "The next of an earlier page.")
            limit =
                read.query(
                    "limit", as: .integer(1...maxPageSize),
                    about: "The number of apps of the page; 100 by default.")
                ?? 100
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/credentials", id: "listCredentials", access: .role(.observe), subject: "Gateways",
        summary: "Returns the certificate of the HTTP port and the credentials of the apps, sorted by app: what they "
            + "are, when they expire, what is wrong.",
        problems: [.unknownApp])

    private let source: any CredentialSource

    package init(source: any CredentialSource) {
        self.source = source
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<CredentialListAnswer> {
        if let app = input.app { try caller.check(app) }
        let all = await source.credentials()
        if let app = input.app, !all.contains(where: { $0.app == app.name }) { throw Problem.unknownApp(app.name) }
        let own = all.filter { one in
            guard let name = one.app, let app = AppID(name) else { return false }
            return (input.app == nil || app == input.app) && caller.has(app)
        }
        // The cursor is the app of the last one. Apps come and go with reloads, and the order stays.
        let rest = own.drop { one in input.after.map { (one.app ?? "") <= $0.name } ?? false }
        let page = rest.prefix(input.limit)
        let isFirst = input.app == nil && input.after == nil && caller.apps == nil
        return Reply(
            CredentialListAnswer(
                credentials: (isFirst ? all.filter { $0.app == nil } : []) + page,
                next: PageCursor(rest.count > page.count ? page.last?.app : nil)))
    }
}
