/// The apps and environments whose data is accepted, and the comparison of claims with them.
struct AcceptedApps: Sendable {
    let apps: [StoreApp]
    let environments: Set<StoreEnvironment>

    /// Checks a bundle id. The comparison is by bytes, because Unicode has different texts that Swift takes as equal.
    @discardableResult
    func check(bundleID: String) throws(ReceiptRefusal) -> StoreApp {
        if let app = apps.first(where: { $0.bundleID.utf8.elementsEqual(bundleID.utf8) }) { return app }
        let known = apps.prefix(5).map(\.bundleID).joined(separator: ", ")
        throw ReceiptRefusal(
            .wrongBundleID,
            "The data belongs to the app \(ReceiptRefusal.quoted(bundleID)), "
                + (known.isEmpty ? "and no app is configured." : "not to a configured one: \(known)."))
    }

    func check(environment: StoreEnvironment) throws(ReceiptRefusal) {
        guard environment != .xcode, environment != .localTesting else {
            throw ReceiptRefusal(
                .localEnvironment,
                "The data is from the environment \(environment), in which Apple signs nothing; it proves nothing.")
        }
        guard environments.contains(environment) else {
            let known = environments.map(\.rawValue).sorted().joined(separator: ", ")
            throw ReceiptRefusal(
                .wrongEnvironment,
                "The data is from the environment \(ReceiptRefusal.quoted(environment.rawValue)); accepted: \(known).")
        }
    }

    /// Checks app and environment of data that names the Apple id of its app. Only production has reliable ones.
    func check(bundleID: String, appAppleID: Int64?, environment: StoreEnvironment) throws(ReceiptRefusal) {
        let app = try check(bundleID: bundleID)
        try check(environment: environment)
        guard environment == .production else { return }
        guard let expected = app.appAppleID else {
            throw ReceiptRefusal(
                .unknownAppID,
                "The data is from production and needs the Apple id of \(bundleID), which is not configured.")
        }
        guard appAppleID == expected else {
            throw ReceiptRefusal(
                .wrongAppID,
                "The data has the Apple id \(appAppleID.map { "\($0)" } ?? "none") for \(bundleID); it must be "
                    + "\(expected).")
        }
    }
}
