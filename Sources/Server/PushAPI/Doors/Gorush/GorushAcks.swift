import PushModel
import PushPipeline
import PushWire

/// What intake and the ledger say about the messages of a request, in the words of gorush.
struct GorushAcks {
    private let said: DirectAnswer
    private let read: GorushRequest
    private let ids: [MessageID]
    /// The acks of the messages, or the one ack of the request as a whole; nil for one that cannot be read.
    private let acks: [JSONDocument?]

    init(_ said: DirectAnswer, to read: GorushRequest, ids: [MessageID]) {
        (self.said, self.read, self.ids) = (said, read, ids)
        acks = said.text.split(separator: UInt8(ascii: "\n")).map { try? JSONDocument(Array($0)) }
    }

    /// The messages that the ledger has accepted now.
    var accepted: Set<MessageID> {
        guard case .lines = said.outcome else { return [] }
        return Set(zip(ids, acks).filter { Self.member("status", of: $1) == "accepted" }.map(\.0))
    }

    /// Adds the entries of tokens that get nothing new, and returns the messages that are carried out.
    ///
    /// - Throws: What is wrong with the request as a whole.
    func settle(in log: inout GorushLog) throws(GorushFault) -> [GorushOutcomes.Sent] {
        guard case .lines = said.outcome else { throw fault }
        var sent: [GorushOutcomes.Sent] = []
        for ((push, id), ack) in zip(zip(read.pushes, ids), acks) {
            let (status, reason) = (Self.member("status", of: ack), Self.member("reason", of: ack))
            switch status {
            case "accepted": sent.append(GorushOutcomes.Sent(push: push, id: id))
            case "duplicate":
                for token in push.tokens {
                    log.append(push.entry(.duplicate, token: token.text, error: "it was handed in before"))
                }
                sent.append(GorushOutcomes.Sent(push: push, id: id))
            case "rejected" where reason == RejectionReason.expired.rawValue:
                for token in push.tokens {
                    log.append(push.entry(.failed, token: token.text, error: "expiration has passed"))
                }
            case "rejected" where reason == RejectionReason.idConflict.rawValue:
                throw GorushFault("the Idempotency-Key was used for another request", status: 409)
            case "rejected": throw GorushFault(Self.member("detail", of: ack) ?? "it is rejected")
            default: throw GorushFault("the disk takes nothing now; send the same request again", status: 503)
            }
        }
        return sent
    }

    /// What is wrong with the request as a whole.
    private var fault: GorushFault {
        let status = said.outcome.status
        if status == 503 { return GorushFault("there is no room now; send the same request again", status: 503) }
        // gorush answers 400 to whatever is wrong with the content.
        let kept = [403, 413].contains(status) ? status : 400
        return GorushFault(
            acks.first.flatMap { Self.member("detail", of: $0) } ?? "the request is refused", status: kept)
    }

    private static func member(_ name: StaticString, of ack: JSONDocument?) -> String? {
        guard let document = ack else { return nil }
        return document.value(name, in: document.root).flatMap { document.string($0) }
    }
}
