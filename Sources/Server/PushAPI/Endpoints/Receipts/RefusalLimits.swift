import PushTime
import PushTransport
import Receipts

/// The refused notifications that each address may send.
///
/// Behind a reverse proxy, the App Store has the same address as everybody. So what a stranger sends must not use up
/// what the App Store needs: texts are counted apart by the signer that they claim, and those with the certificates of
/// the App Store only so that they take a bounded part of the processor's time.
struct RefusalLimits: Sendable {
    /// Texts without certificates. They are refused without a verification.
    private var unsigned = AddressRates(burst: 60, interval: .seconds(1), limit: 10_000)
    /// Certificates that have signed nothing yet. Each verification takes less than a millisecond. The App Store needs
    /// one of them for each certificate: after the start, and when Apple renews it.
    private var unknown = AddressRates(burst: 60, interval: .milliseconds(100), limit: 10_000)
    /// Known certificates, of which anyone can have copies, and what they have signed for others. Each verification
    /// takes a tenth of that.
    private var known = AddressRates(burst: 600, interval: .milliseconds(5), limit: 10_000)

    /// The length that counts as one text. Notifications are shorter, and a longer text takes more time.
    static let unitLength = 32_768

    /// Returns the time that an address has to wait with a text that claims a signer; nil if it may send it now.
    func wait(of peer: HTTP1Peer, signer: ClaimedSigner, now: MonotonicTime) -> Duration? {
        switch signer {
        case .none: unsigned.wait(of: peer, now: now)
        case .unknown: unknown.wait(of: peer, now: now)
        case .known: known.wait(of: peer, now: now)
        }
    }

    /// Counts the refusal of a text. Texts that were verified at the same time all count.
    mutating func count(length: Int, from peer: HTTP1Peer, signer: ClaimedSigner, now: MonotonicTime) {
        let units = 1 + length / Self.unitLength
        switch signer {
        case .none: unsigned.charge(units, to: peer, now: now)
        case .unknown: unknown.charge(units, to: peer, now: now)
        case .known: known.charge(units, to: peer, now: now)
        }
    }
}
