import PushModel

/// The forms of a message whose words depend on the device, at the end of its record. The payload of the first form is
/// that of the message, and the users are those of the audience.
///
///     count of forms, forms, count of names, values by user and name
///
/// A form is its locale, its payload unless it is the first one, and its places: their count, and the distance from the
/// one before and the number of the value of each.
extension MessageRecord {
    static func append(_ wording: Wording, to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(wording.forms.count))
        for (number, form) in wording.forms.enumerated() {
            bytes.appendText(form.locale?.text ?? "")
            if number > 0 { bytes.appendBytes(form.payload) }
            bytes.appendVarint(UInt64(form.places.count))
            var last = 0
            for place in form.places {
                bytes.appendVarint(UInt64(place.offset - last))
                bytes.appendVarint(UInt64(place.value))
                last = place.offset
            }
        }
        bytes.appendVarint(UInt64(wording.values?.count ?? 0))
        guard let values = wording.values else { return }
        for user in values.users.indices {
            for number in 0..<values.count {
                let value = values.value(number, of: user)
                bytes.appendVarint(UInt64(value.count))
                bytes += value
            }
        }
    }

    /// Returns nil if the bytes are damaged.
    static func readWording(_ reader: inout ByteReader, payload: [UInt8], audience: Audience) -> Wording? {
        guard let count = small(&reader, atMost: Wording.maxForms) else { return nil }
        var forms: [Wording.Form] = []
        for number in 0..<count {
            let name = reader.text()
            let locale = LocaleTag(name)
            guard locale?.text == name || name.isEmpty else { return nil }
            let payload = number == 0 ? payload : reader.blob()
            guard let places = places(&reader, within: payload.count), !reader.isBroken else { return nil }
            forms.append(Wording.Form(locale: locale, payload: payload, places: places))
        }
        guard let names = small(&reader, atMost: UserValues.maxNames) else { return nil }
        guard names > 0 else { return reader.isBroken ? nil : Wording(forms) }
        guard case .users(let users) = audience else { return nil }
        var values = UserValues(of: users, count: names)
        for _ in 0..<(users.count * names) {
            guard values.add(reader.blob()), !reader.isBroken else { return nil }
        }
        return Wording(forms, values: values)
    }

    private static func places(_ reader: inout ByteReader, within length: Int) -> [Wording.Place]? {
        // Each place has two bytes of the record at least.
        guard let count = small(&reader, atMost: length + 1) else { return nil }
        var places: [Wording.Place] = []
        var offset = 0
        for _ in 0..<count {
            guard let distance = small(&reader, atMost: length - offset),
                let value = small(&reader, atMost: UserValues.maxNames)
            else { return nil }
            offset += distance
            places.append(Wording.Place(offset: offset, value: value))
        }
        return places
    }

    private static func small(_ reader: inout ByteReader, atMost limit: Int) -> Int? {
        let number = reader.varint()
        return !reader.isBroken && number <= UInt64(limit) ? Int(number) : nil
    }
}
