package import PushModel
import PushText

extension Form where Value == LogPosition {
    /// A place in the log: a number, or in a cluster the numbers of parts, as in `3:17,5:90`.
    package static var place: Form<LogPosition> {
        @Sendable func read(_ text: String, _ faults: inout InputFaults) -> LogPosition? {
            if let place = LogPosition(text) { return place }
            faults.add(
                .badValue,
                detail: "a whole number from 0 to \(Int64.max) or numbers of parts, as in 3:17,5:90, is expected, not "
                    + "\"\(PlainText.line(text, limit: 60))\"")
            return nil
        }
        return Form(
            schema: ["type": "string", "pattern": "^[0-9]+(:[0-9]+(,[0-9]+:[0-9]+)*)?$"],
            example: LogPosition(), text: read
        ) { document, position, faults in
            if let number = document.wholeNumber(position) { return read("\(number)", &faults) }
            guard let text = document.text(position, or: &faults) else { return nil }
            return read(text, &faults)
        }
    }

    /// A place that is not the beginning of the log.
    package static var placeWithin: Form<LogPosition> {
        .parsed(
            schema: [
                "type": "string",
                "pattern": "^(?!0+$|[0-9]+:0+(,[0-9]+:0+)*$)[0-9]+(:[0-9]+(,[0-9]+:[0-9]+)*)?$",
            ], example: LogPosition(after: 1), rule: "is the next of an earlier page, above 0"
        ) { LogPosition($0).flatMap { $0 == LogPosition() ? nil : $0 } }
    }
}
