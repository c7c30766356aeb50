import APNs
import PushAPI
import PushConfiguration
import PushModel
import PushStore
import PushWire
import Receipts

@testable import carillon

/// The text of `Documentation/Errors.md`, made from the code: each word that names a refusal or a fault.
enum ErrorsPage {
    static var text: String {
        [
            introduction, provider, unanswered, messages, requests, others,
        ].joined(separator: "\n\n") + "\n"
    }

    private static let introduction = """
        # Errors

        Each word by which Carillon, or the push service, names a refusal or a fault.
        The page is made from the code, and a test compares both. `carillon trace` and
        `carillon doctor` explain what they show with the same words.
        """

    // MARK: Sections

    private static var provider: String { PushServices.all.map { answers(of: $0) }.joined(separator: "\n\n") }

    private static func answers(of service: PushService) -> String {
        let rows = service.reasons.all.sorted { $0.names[0] < $1.names[0] }.map { known in
            [
                known.names.map(code).joined(separator: ", "), "\(known.status)", known.meaning, known.advice,
                effect(of: known.disposition),
            ]
        }
        let owner = service.description.owner
        // The pages that say what a status means without a reason.
        let pages = [
            "Apple": "[Protocols](Protocols.md#a7-status-and-reason)", "Google": "[FCM](FCM.md#what-the-answers-mean)",
            "the browser's push service": "[Web Push](WebPush.md#what-the-answers-mean)",
        ]
        return """
            ## Answers of \(owner)

            The `reason` of `delivery.rejected`, `delivery.retry` and `device.deactivated`,
            with the status of \(owner). Another word of it keeps its name in events, and
            the status decides (\(pages[owner] ?? owner)).

            \(table(["reason", "status", "meaning", "what to do", "Carillon"], rows))
            """
    }

    private static var unanswered: String {
        let unknown: [UnknownCause] = [.timeout, .connectionLost, .reset, .serverError]
        let suppressed: [DeliveryOutcome.Suppression] = [
            .inactive, .duplicate, .unknownDevice, .erased, .reassigned,
        ]
        let rows =
            unknown.map { [code($0.rawValue), code("delivery.unknown"), ReasonDescription.unknown($0.rawValue)] }
            + suppressed.map {
                [code($0.rawValue), code("delivery.suppressed"), ReasonDescription.suppression($0.rawValue)]
            } + [[code(ReasonDescription.wrongKind), code("delivery.rejected"), ReasonDescription.meaningOfWrongKind]]
            + DeliveryOutcome.ExpiryReason.allCases.map {
                [code($0.rawValue), code("delivery.expired"), ReasonDescription.expiry($0.rawValue)]
            }
        return """
            ## Deliveries without an answer

            \(table(["reason", "event", "meaning"], rows))
            """
    }

    private static var messages: String {
        let rows = RejectionReason.allCases.map { [code($0.rawValue), ReasonDescription.rejection($0.rawValue)] }
        return """
            ## Rejected messages

            The `reason` of an ack and of `message.rejected`. `detail` names the member.
            [Protocol](Protocol.md#reasons) has what to do, and
            [HTTP](HTTP.md#post-v1messages) the statuses.

            \(table(["reason", "meaning"], rows))
            """
    }

    private static var requests: String {
        let rows = ProblemCode.allCases.map { [code($0.rawValue), "\($0.status)", $0.title] }
        return """
            ## Refused HTTP requests

            The `code` of a problem. [HTTP](HTTP.md#errors) has what to do.

            \(table(["code", "status", "meaning"], rows))
            """
    }

    /// The words that have their explanation in another page.
    private static var others: String {
        let rows = sources.map { [$0.place, $0.words.sorted().map(code).joined(separator: ", ")] }
        return """
            ## Other words

            Their explanations are in the pages that the first column names.

            \(table(["where", "words"], rows))
            """
    }

    private static let sources: [(place: String, words: [String])] = [
        ("[`carillon doctor`](Doctor.md)", Finding.Code.allCases.map(\.rawValue)),
        ("[the end of a connection](Protocol.md#connectiondown)", ConnectionFault.Code.allCases.map(\.rawValue)),
        ("[a finding of an ack](Protocol.md#findings)", Array(ProtocolPageTests.inAck)),
        ("[a fault in the input over HTTP](HTTP.md#errors)", InputFault.Code.allCases.map(\.rawValue)),
        (
            "[the log of refused HTTP requests](Keys.md#why-was-a-request-refused)",
            AccessReason.allCases.map(\.rawValue)
        ),
        ("[the obstacle of a message](HTTP.md#get-v1messagesid)", MessageObstacle.Code.allCases.map(\.rawValue)),
        ("[`carillon receipts`](Receipts.md#what-is-checked)", ReceiptRefusal.Code.allCases.map(\.rawValue)),
    ]

    private static func effect(of disposition: Disposition) -> String {
        switch disposition {
        case .drop: "ends the delivery"
        case .deactivate: "ends the delivery, deactivates the device"
        case .retry: "sends again later"
        case .reconnect: "sends again on another connection"
        case .renewToken: "sends again with a new token"
        case .renewTokenOnce: "sends once more with a new token, then halts the app"
        case .slowMinting: "sends again later, with the same token"
        case .halt: "halts the app, and keeps its queue"
        }
    }

    // MARK: Markdown

    private static func code(_ word: String) -> String { "`\(word)`" }

    private static func table(_ header: [String], _ rows: [[String]]) -> String {
        let lines = [header, header.map { _ in "---" }] + rows
        return lines.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }
}
