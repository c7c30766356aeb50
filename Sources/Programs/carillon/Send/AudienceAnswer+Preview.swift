import PushAPI
import PushText
import PushWire

/// The size of an audience, as `carillon send --dry-run` shows it.
extension AudienceAnswer {
    /// A sentence; for a family, also a line for each app.
    var text: String {
        let size = EventDescription.count(Int64(count), of: "device")
        let sentence = "\nIt would now go to \(isComplete ? "" : "at least ")\(size).\n"
        guard let members else { return sentence }
        let rows = members.map { [PlainText.line($0.app, limit: 64), PlainText.line($0.service), "\($0.count)"] }
        return sentence + "\n" + Terminal.output.table(["app", "service", "devices"], rows: rows)
    }

    /// The numbers of devices by app; nil unless it is the audience of a family.
    var counts: JSONValue? {
        members.map { members in
            .object(members.reduce(into: [:]) { $0[$1.app] = .integer(Int64($1.count)) })
        }
    }
}
