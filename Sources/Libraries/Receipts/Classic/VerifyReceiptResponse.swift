/// A parsed response of Apple's `verifyReceipt`.
struct VerifyReceiptResponse {
    let status: ReceiptStatus
    /// Whether the server says that another request may help.
    let isRetryable: Bool
    let json: ReceiptJSON
    private let body: [UInt8]

    init(_ body: [UInt8]) throws(ReceiptRefusal) {
        let json: ReceiptJSON
        do {
            json = try StrictJSONReader.read(body)
        } catch {
            throw ReceiptRefusal(error, in: "response of the App Store", code: .malformedResponse)
        }
        guard let status = json["status"]?.integer else {
            throw ReceiptRefusal(.malformedResponse, "The response of the App Store does not have a status.")
        }
        self.status = ReceiptStatus(rawValue: status)
        self.json = json
        self.body = body
        // The documentation has a hyphen, and servers send an underscore; the value is a boolean, a number, or its
        // text.
        isRetryable = ["is-retryable", "is_retryable"].contains { key in
            switch json[key] {
            case .boolean(true), .integer(1), .string("1"), .string("true"): true
            default: false
            }
        }
    }

    /// Returns the receipt, which must belong to the environment that was asked.
    func receipt(from asked: StoreEnvironment) throws(ReceiptRefusal) -> ClassicReceipt {
        guard let receipt = json["receipt"], receipt.members != nil else {
            throw ReceiptRefusal(.malformedResponse, "The response of the App Store does not have a receipt.")
        }
        // Receipts in the style of iOS 6 name the bundle id "bid", and are themselves their only purchase.
        guard let bundleID = (receipt["bundle_id"] ?? receipt["bid"])?.string else {
            throw ReceiptRefusal(.malformedResponse, "The receipt in the response does not have a bundle id.")
        }
        if let named = json["environment"]?.string, named != asked.rawValue {
            throw ReceiptRefusal(
                .mismatchedContent,
                "The App Store was asked in \(asked), and answered for \(ReceiptRefusal.quoted(named)).")
        }
        return ClassicReceipt(
            environment: asked, bundleID: bundleID,
            version: receipt["application_version"]?.string ?? receipt["bvrs"]?.string,
            createdAt: ClassicTransaction.time(receipt["receipt_creation_date_ms"]),
            transactions: transactions(in: receipt), latestReceipt: json["latest_receipt"]?.string, json: json,
            body: body)
    }

    /// Returns the transactions, each once, as the latest description has them. The receipt is as old as the app's copy
    /// of it: it does not know of later refunds, nor of those that were reversed.
    private func transactions(in receipt: ReceiptJSON) -> [ClassicTransaction] {
        let latest = json["latest_receipt_info"]
        let all = (latest?.elements ?? [latest].compactMap { $0 }) + (receipt["in_app"]?.elements ?? []) + [receipt]
        var seen: Set<String> = []
        return all.compactMap { ClassicTransaction($0) }.filter { seen.insert($0.transactionID).inserted }
    }
}
