extension EventKind {
    /// The kinds of the family `receipt`, by the type of the App Store Server Notification. Their names are its own.
    private static let receipts = Dictionary(
        uniqueKeysWithValues: allCases.filter { $0.isReceipt && $0 != .receiptOther }.map { ("\($0.name)", $0) })

    /// Returns the kind of a notification, ``receiptOther`` for a type that is not known.
    package static func receipt(ofType type: String) -> EventKind { receipts[type] ?? .receiptOther }

    package var isReceipt: Bool { (Self.receiptSubscribed.rawValue...Self.receiptOther.rawValue).contains(rawValue) }
}
