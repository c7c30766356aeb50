/// `carillon receipts`: verifies receipts and signed data of the App Store.
enum ReceiptsVerb {
    static let verb = Verb(
        name: "receipts", summary: "verify receipts and signed data of the App Store",
        verbs: [ReceiptsVerifyVerb.verb])
}
