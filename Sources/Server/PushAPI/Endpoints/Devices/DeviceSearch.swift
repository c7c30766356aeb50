import PushModel

/// The filters of a search for devices, with the page to return.
package struct DeviceSearch: EndpointInput {
    package static let maxPageSize = 1000

    let app: AppID?
    let user: String?
    let tag: String?
    let kind: AddressKind?
    let installation: String?
    let activity: String?
    let isActive: Bool?
    let after: String?
    let limit: Int

    package init(_ read: inout InputReader) {
        app = read.query("app", as: .app, about: "Only devices of this app.")
        user = read.query("user", as: .text(1...1024), about: "Only devices of this user.")
        tag = read.query("tag", as: .text(1...1024), about: "Only devices with this tag.")
        kind = read.query(
            "kind", as: .choice, about: "Only addresses of this kind; one that was not stated counts as alert.")
        installation = read.query(
            "installation", as: .text(1...DeviceInput.maxInstallationLength),
            about: "Only addresses of this installation.")
        activity = read.query(
            "activity", as: .text(1...DeviceInput.maxActivityLength), about: "Only addresses of this Live Activity.")
        isActive = read.query("active", as: .flag, about: "Only devices that are active, or only others.")
        after = read.query("after", as: .text(1...1024), about: "The next of an earlier page.")
        limit =
            read.query("limit", as: .integer(1...Self.maxPageSize), about: "The size of the page; 100 by default.")
            ?? 100
    }

    /// The names of the filters in the request. Their values may be about a person.
    var filters: [String] {
        [
            ("user", user != nil), ("tag", tag != nil), ("kind", kind != nil), ("installation", installation != nil),
            ("activity", activity != nil), ("active", isActive != nil),
        ].filter(\.1).map(\.0)
    }

    /// Returns the page of the devices that the caller may see.
    func page(of devices: any DeviceDirectory, apps: AppCatalog, for caller: Caller) async throws -> DeviceList {
        var filter = DeviceFilter()
        filter.app = try caller.app(for: app)
        if let app { try apps.check(app) }
        (filter.user, filter.tag, filter.kind, filter.isActive) = (user, tag, kind, isActive)
        (filter.installation, filter.activity) = (installation, activity)
        do {
            return try await devices.list(filter, after: after.map { AudienceCursor($0) }, limit: limit)
        } catch let fault as BadCursor {
            throw Problem.invalid(InputFault(.badValue, at: .parameter("after"), detail: fault.description))
        }
    }
}
