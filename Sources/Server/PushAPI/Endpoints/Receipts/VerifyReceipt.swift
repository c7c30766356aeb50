package import PushModel
import Receipts

/// `POST /v1/receipts/verify`: verifies signed data or an old receipt of the App Store.
package struct VerifyReceipt: Endpoint {
    package struct Input: EndpointInput {
        let signed: String?
        let receipt: String?
        let excludesOldTransactions: Bool

        package init(_ read: inout InputReader) {
            signed = read.optional(
                "signed", as: .text(1...262_144, example: "eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA"),
                about: "Signed data: a transaction, renewal information, an app transaction or a notification.")
            receipt = read.optional(
                "receipt", as: .text(1...1_048_576, example: "MIIT"),
                about: "An old receipt of the app's bundle, in Base64. Apple has deprecated its verification.")
            excludesOldTransactions =
                read.optional(
                    "exclude_old_transactions", as: .flag,
                    about: "Whether only the latest transaction of each subscription of an old receipt is returned.")
                ?? false
            read.requireOne(of: "signed", or: "receipt", detail: "give either signed or receipt")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/receipts/verify", id: "verifyReceipt", access: .role(.push), subject: "Receipts",
        summary: "Verifies signed data or an old receipt of the App Store.", body: .json,
        example: ["signed": "eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA"],
        answers: [.init(200, about: "The verdict, also for data that is not valid.")])

    private let receipts: any ReceiptVerification

    package init(receipts: any ReceiptVerification) {
        self.receipts = receipts
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<ReceiptAnswer> {
        do {
            if let signed = input.signed {
                let data = try await receipts.verify(signed)
                let app = data.bundleID.flatMap { receipts.app(of: $0) }
                if let app { try caller.check(app) }
                return Reply(ReceiptAnswer(data, app: app))
            }
            let receipt = try await receipts.verify(
                receipt: input.receipt ?? "", excludingOldTransactions: input.excludesOldTransactions)
            let app = receipts.app(of: receipt.bundleID)
            if let app { try caller.check(app) }
            return Reply(ReceiptAnswer(receipt, app: app))
        } catch {
            if let problem = Problem(error) { throw problem }
            guard let refusal = error as? ReceiptRefusal else { throw error }
            return Reply(ReceiptAnswer(refusal))
        }
    }
}
