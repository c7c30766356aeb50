import PushAPI
import PushText
import PushTime
import PushTransport
import PushWire
import Receipts

/// The result of a verification, as text and as JSON.
enum ReceiptReport {
    case signedData(VerifiedData)
    case oldReceipt(ClassicReceipt)
    case refused(ReceiptRefusal)

    var code: ExitCode {
        guard case .refused(let refusal) = self else { return .done }
        switch refusal.code {
        case .tooLong, .notASCII, .wrongSegmentCount, .malformedBase64, .paddedBase64, .malformedHeader,
            .malformedReceipt:
            return .badInput
        case .revocationUnavailable, .serviceUnavailable: return .tryAgain
        case .wrongSharedSecret: return .notPermitted
        case .unknownAppID: return .configuration
        default: return .failed
        }
    }

    // MARK: Text

    func text(on terminal: Terminal) -> String {
        switch self {
        case .signedData(let data):
            terminal.colored("genuine", in: .green) + ": \(Self.name(of: data.kind)), signed by the App Store\n"
                + PlainText.rows(Self.rows(of: data), on: terminal)
        case .oldReceipt(let receipt):
            terminal.colored("genuine", in: .green) + ": a receipt, verified by Apple's server\n"
                + PlainText.rows(Self.rows(of: receipt), on: terminal)
        case .refused(let refusal):
            terminal.colored("refused", in: .red) + ": \(refusal.code.rawValue)\n"
                + "  \(terminal.hanging(PlainText.line(refusal.sentence, limit: 1000), indent: 2))\n"
        }
    }

    private static func name(of kind: SignedDataKind) -> String {
        switch kind {
        case .transaction: "a transaction"
        case .renewalInfo: "renewal information"
        case .appTransaction: "an app transaction"
        case .notification: "a notification"
        }
    }

    private static func rows(of data: VerifiedData) -> [(name: String, text: String)] {
        var rows: [(String, String?)]
        switch data {
        case .transaction(let transaction): rows = self.rows(of: transaction.content)
        case .renewalInfo(let renewal): rows = self.rows(of: renewal.content)
        case .appTransaction(let app):
            rows = [
                ("app", app.content.bundleID), ("environment", app.content.environment.rawValue),
                ("version", app.content.version), ("original version", app.content.originalVersion),
                ("purchased", time(app.content.originallyPurchasedAt)),
            ]
        case .notification(let notification):
            let content = notification.content
            rows = [
                (
                    "type",
                    ([content.type.rawValue] + [content.subtype?.rawValue].compactMap { $0 }).joined(separator: ", ")
                ),
                ("notification", content.id), ("app", content.bundleID),
            ]
            rows +=
                content.transaction.map { self.rows(of: $0).filter { $0.0 != "app" } }
                ?? [("environment", content.environment.rawValue)]
            if let renewal = content.renewalInfo { rows += [("renews", renews(renewal))] }
        }
        rows += [("signed", time(data.signed.signedAt)), ("revocation", revocation(data.revocation))]
        return shown(rows)
    }

    private static func rows(of transaction: SignedTransaction) -> [(String, String?)] {
        [
            ("app", transaction.bundleID), ("environment", transaction.environment.rawValue),
            ("transaction", transaction.transactionID), ("original", transaction.originalTransactionID),
            ("product", transaction.productID), ("type", transaction.type?.rawValue),
            ("purchased", time(transaction.purchasedAt)), ("expires", time(transaction.expiresAt)),
            ("refunded", time(transaction.revokedAt)), ("account token", transaction.appAccountToken),
        ]
    }

    private static func rows(of renewal: SignedRenewalInfo) -> [(String, String?)] {
        [
            ("environment", renewal.environment.rawValue), ("original", renewal.originalTransactionID),
            ("product", renewal.productID), ("renews", renews(renewal)),
        ]
    }

    private static func rows(of receipt: ClassicReceipt) -> [(name: String, text: String)] {
        shown(
            [
                ("app", receipt.bundleID), ("environment", receipt.environment.rawValue), ("version", receipt.version),
                ("created", time(receipt.createdAt)),
            ]
                + receipt.transactions.map { transaction in
                    let details = [
                        transaction.productID, transaction.expiresAt.map { "expires \($0.utcText)" },
                        transaction.cancelledAt.map { "refunded \($0.utcText)" },
                    ]
                    return (
                        "transaction",
                        "\(transaction.transactionID) \(details.compactMap { $0 }.joined(separator: ", "))"
                    )
                })
    }

    private static func renews(_ renewal: SignedRenewalInfo) -> String {
        let status = renewal.autoRenewStatus == .on ? "yes" : "no"
        return "\(status)\(renewal.renewsAt.map { ", \($0.utcText)" } ?? "")"
    }

    private static func revocation(_ status: RevocationStatus) -> String {
        switch status {
        case .notChecked: "not checked"
        case .good: "the certificates are not revoked"
        case .unknown(let cause): "unknown: \(cause)"
        }
    }

    private static func time(_ time: StoreTime?) -> String? { time.map(\.utcText) }

    private static func shown(_ rows: [(String, String?)]) -> [(name: String, text: String)] {
        rows.compactMap { name, text in text.map { (name, PlainText.line($0, limit: 300)) } }
    }

    // MARK: JSON

    var json: String {
        switch self {
        case .signedData(let data):
            MachineLine.text([
                "valid": true, "kind": .string(data.kind.rawValue),
                "signed_at": .integer(data.signed.signedAt.milliseconds), "revocation": Self.word(data.revocation),
                "claims": JSONValue(data.signed.json),
            ])
        case .oldReceipt(let receipt):
            MachineLine.text([
                "valid": true, "kind": "receipt", "environment": .string(receipt.environment.rawValue),
                "bundle_id": .string(receipt.bundleID), "claims": JSONValue(receipt.json),
            ])
        case .refused(let refusal):
            MachineLine.text([
                "valid": false, "code": .string(refusal.code.rawValue), "detail": .string(refusal.sentence),
                "retryable": .bool(refusal.isRetryable), "exit_code": .integer(Int64(code.rawValue)),
            ])
        }
    }

    static func json(_ failure: Failure) -> String {
        MachineLine.text([
            "valid": false, "detail": .string(failure.description), "exit_code": .integer(Int64(failure.code.rawValue)),
        ])
    }

    private static func word(_ status: RevocationStatus) -> JSONValue {
        switch status {
        case .notChecked: "not_checked"
        case .good: "good"
        case .unknown: "unknown"
        }
    }
}

extension StoreTime {
    fileprivate var utcText: String { WallTime(milliseconds: milliseconds).utcText }
}
