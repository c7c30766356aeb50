import ReceiptCrypto

/// The reading of one notification. It verifies the signed data within, and notes the chains of it.
struct NotificationReading {
    let verifier: SignedDataVerifier
    let accepted: AcceptedApps
    private(set) var chains: [SigningChain] = []

    init(verifier: SignedDataVerifier, accepted: AcceptedApps) {
        self.verifier = verifier
        self.accepted = accepted
    }

    mutating func notification(
        _ claims: ClaimReader, signedAt: StoreTime
    ) throws(ReceiptRefusal) -> ServerNotification {
        ServerNotification(
            type: try claims.required("notificationType", claims.text), subtype: try claims.text("subtype"),
            id: try claims.required("notificationUUID", claims.string), version: try claims.string("version"),
            signedAt: signedAt, content: try content(claims))
    }

    private mutating func content(_ claims: ClaimReader) throws(ReceiptRefusal) -> ServerNotification.Content {
        let keys = ["data", "summary", "externalPurchaseToken", "appData"].filter { claims.has($0) }
        guard let key = keys.first else {
            throw ReceiptRefusal(
                .missingClaim,
                "The notification has none of the claims data, summary, externalPurchaseToken and appData.")
        }
        guard keys.count == 1 else {
            throw ReceiptRefusal(
                .malformedPayload,
                "The notification has the claims \(keys.joined(separator: " and ")); it must have exactly one of them.")
        }
        let nested = try claims.required(key, claims.object)
        switch key {
        case "data": return .data(try data(nested))
        case "appData": return .appData(try appData(nested))
        case "summary":
            let summary = try RenewalExtensionSummary(nested)
            try accepted.check(
                bundleID: summary.bundleID, appAppleID: summary.appAppleID, environment: summary.environment)
            return .summary(summary)
        default:
            let token = try ExternalPurchaseToken(nested)
            try accepted.check(bundleID: token.bundleID, appAppleID: token.appAppleID, environment: token.environment)
            return .externalPurchaseToken(token)
        }
    }

    private mutating func data(_ claims: ClaimReader) throws(ReceiptRefusal) -> NotificationData {
        let environment: StoreEnvironment = try claims.required("environment", claims.text)
        let bundleID = try claims.required("bundleId", claims.string)
        let appAppleID = try claims.integer("appAppleId")
        // The app is checked before the nested data, so that the refusal names the outermost cause.
        try accepted.check(bundleID: bundleID, appAppleID: appAppleID, environment: environment)
        let transaction = try nested("signedTransactionInfo", in: claims, verify: verifier.transaction)
        if let content = transaction?.content {
            try Self.compare(content.bundleID, with: bundleID, claim: "bundleId of signedTransactionInfo")
            try Self.compare(
                content.environment.rawValue, with: environment.rawValue, claim: "environment of signedTransactionInfo")
        }
        let renewalInfo = try nested("signedRenewalInfo", in: claims, verify: verifier.renewalInfo)
        if let content = renewalInfo?.content {
            try Self.compare(
                content.environment.rawValue, with: environment.rawValue, claim: "environment of signedRenewalInfo")
        }
        return NotificationData(
            environment: environment, bundleID: bundleID, appAppleID: appAppleID,
            bundleVersion: try claims.string("bundleVersion"), status: try claims.number("status"),
            consumptionRequestReason: try claims.text("consumptionRequestReason"), transaction: transaction,
            renewalInfo: renewalInfo)
    }

    private mutating func appData(_ claims: ClaimReader) throws(ReceiptRefusal) -> NotificationAppData {
        let environment: StoreEnvironment = try claims.required("environment", claims.text)
        let bundleID = try claims.required("bundleId", claims.string)
        let appAppleID = try claims.integer("appAppleId")
        try accepted.check(bundleID: bundleID, appAppleID: appAppleID, environment: environment)
        let appTransaction = try nested("signedAppTransactionInfo", in: claims, verify: verifier.appTransaction)
        if let content = appTransaction?.content {
            try Self.compare(content.bundleID, with: bundleID, claim: "bundleId of signedAppTransactionInfo")
            try Self.compare(
                content.environment.rawValue, with: environment.rawValue,
                claim: "receiptType of signedAppTransactionInfo")
        }
        return NotificationAppData(
            environment: environment, bundleID: bundleID, appAppleID: appAppleID, appTransaction: appTransaction)
    }

    private mutating func nested<Content>(
        _ key: String, in claims: ClaimReader, verify: (String) throws(ReceiptRefusal) -> Verified<Content>
    ) throws(ReceiptRefusal) -> Verified<Content>? {
        guard let text = try claims.string(key) else { return nil }
        do {
            let verified = try verify(text)
            chains += verified.chains
            return verified
        } catch {
            throw error.within(key)
        }
    }

    private static func compare(_ found: String, with expected: String, claim: String) throws(ReceiptRefusal) {
        guard found.utf8.elementsEqual(expected.utf8) else {
            throw ReceiptRefusal(
                .mismatchedContent,
                "The \(claim) is \(ReceiptRefusal.quoted(found)), but the notification has "
                    + "\(ReceiptRefusal.quoted(expected)).")
        }
    }
}
