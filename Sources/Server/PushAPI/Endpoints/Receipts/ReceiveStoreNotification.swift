import PushLoop
package import PushModel
import PushTime
import PushTransport
import Receipts

/// `POST /v1/appstore/notifications`: the App Store reports a purchase, a renewal or a refund. Each report becomes one
/// event, however often the App Store sends it.
///
/// The App Store has no key. Its signature is the proof. See ``RefusalLimits`` for texts that do not have it.
/// The header of a text is decoded before its limit is known, and once more for the verification.
package struct ReceiveStoreNotification: Endpoint {
    package struct Input: EndpointInput {
        let signed: String
        let peer: HTTP1Peer

        package init(_ read: inout InputReader) {
            signed = read.body(
                "signedPayload", as: .text(1...262_144, example: "eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA"),
                about: "The signed notification.")
            // Apple may add members.
            read.ignoreOthers()
            peer = read.peer
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/appstore/notifications", id: "receiveStoreNotification", access: .open, subject: "Receipts",
        summary: "Takes an App Store Server Notification, version 2.", body: .json,
        example: ["signedPayload": "eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA"],
        answers: [.init(200, about: "The event of the notification is on disk.")], problems: [.tooManyRequests])

    private let receipts: any ReceiptVerification
    private let log: any ReceiptLog
    private let counts: StoreNotificationCounts
    private let refusals = Locked(RefusalLimits())

    package init(receipts: any ReceiptVerification, log: any ReceiptLog, counts: StoreNotificationCounts) {
        self.counts = counts
        self.receipts = receipts
        self.log = log
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<StoreNotificationAnswer> {
        let signer = receipts.signer(claimedBy: input.signed)
        if let wait = refusals.withLock({ $0.wait(of: input.peer, signer: signer, now: .current()) }) {
            var problem = Problem(
                .tooManyRequests,
                detail: "this address has sent too much that the App Store did not sign for an app of this server")
            problem.retryAfterMilliseconds = max(1, wait.wholeMilliseconds)
            throw problem
        }
        let notification: ServerNotification
        do {
            notification = try await verified(input.signed)
        } catch {
            let refusal = (error as? ReceiptRefusal).flatMap { $0.isRetryable ? nil : $0 }
            counts.count(refusal == nil ? .failed : .refused)
            if let problem = Problem(error) { throw problem }
            guard let refusal else { throw error }
            receipts.refused(refusal)
            let length = input.signed.utf8.count
            refusals.withLock { $0.count(length: length, from: input.peer, signer: signer, now: .current()) }
            throw Problem.invalid(
                InputFault(.badValue, at: .pointer("/signedPayload"), detail: "\(refusal.code.rawValue): \(refusal)"))
        }
        guard let app = receipts.app(of: notification.bundleID) else {
            // The configuration was reloaded in the meantime.
            throw Problem(.unavailable, detail: "the app of the notification is not configured any more")
        }
        let event = EventDraft(notification, app: app)
        switch await log.take(ReceivedReceipt(event, id: notification.id, app: app)) {
        case .stored:
            counts.count(.stored)
            return Reply(StoreNotificationAnswer.stored)
        case .duplicate:
            counts.count(.duplicate)
            return Reply(StoreNotificationAnswer.duplicate)
        case .failed(let why):
            counts.count(.failed)
            throw Problem(.unavailable, detail: "the notification was not stored: \(why); send it again later")
        }
    }

    private func verified(_ text: String) async throws -> ServerNotification {
        guard case .notification(let data) = try await receipts.verify(text) else {
            throw ReceiptRefusal(.wrongKind, "The data is genuine, but it is not a notification.")
        }
        guard (1...128).contains(data.content.id.utf8.count) else {
            throw ReceiptRefusal(.malformedPayload, "The notificationUUID must have 1 to 128 bytes.")
        }
        return data.content
    }
}
