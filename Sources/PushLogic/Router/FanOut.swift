import PushModel

/// The progress of a message through its devices. A page is prepared while the one before it is sent.
final class FanOut {
    enum Step {
        case idle
        /// The next page is or will be requested from the registry.
        case paging
        /// The claim of a page is or will be requested from the ledger.
        case claiming
    }

    /// A device that is suppressed, and the reason.
    struct Suppressed {
        let device: DeviceID
        let token: DeviceToken?
        let why: DeliveryRecord.Suppression
    }

    var step = Step.idle
    /// The page that is being sent; the devices before index `at` are done.
    var page: [AudiencePage.Device] = []
    var at = 0
    /// The page after it, ready to be sent.
    var ahead: [AudiencePage.Device] = []
    /// The devices that are being claimed: those to send to, and those that are suppressed. The latter are claimed only
    /// if they may have been counted before a restart.
    var pending: [AudiencePage.Device] = []
    var suppressed: [Suppressed] = []
    /// The registry's cursor, or the number of named tokens that were looked at.
    var cursor: AudienceCursor?
    var looked = 0
    /// The devices of the named tokens so far, which tell duplicates.
    var seen: DeviceIDTable?
    var hasAllPages = false
    /// Whether the message has expired, so that no further devices are looked up.
    var isAbandoned = false
    /// Whether the message is in the `ready` queue of its lane.
    var isReady = false
    /// The number of devices that the lane counts as prepared while their page is requested.
    var reserved = 0
    /// The failure of the last page request; nil if that succeeded.
    var trouble: PageTrouble?

    /// The number of devices of the current page that are not sent to.
    var left: Int { page.count - at }
}
