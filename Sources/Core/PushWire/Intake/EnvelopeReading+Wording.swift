import PushModel

/// Messages whose words depend on the device: each form is rendered and judged once, when the message is accepted.
extension EnvelopeReading {
    /// Whether the words depend on the device.
    func isWorded(_ content: PlainContent) -> Bool {
        position(.values) != nil || content.alert.map { json.kind($0) == .object && isLocalized($0) } == true
    }

    /// Returns the forms of a message, of which each has been judged. The findings are those of the first form that has
    /// some.
    func worded(
        _ content: PlainContent, to audience: Audience, for options: MessageOptions, codec: any ServiceCodec,
        index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        guard let alert = content.alert else {
            throw Rejection(.badField, detail: "values: there is no alert that they belong to")
        }
        let words = try words(of: alert, by: codec.plainRules)
        var values: NamedValues?
        if let position = position(.values) { values = try self.values(at: position, for: words, to: audience) }
        var content = content
        var forms: [Wording.Form] = []
        var judged: JudgedPayload?
        for words in words {
            content.alert = words.alert
            if let values { content.substitution = Substitution(names: values.names, texts: texts(of: words.alert)) }
            var user: Int?
            do throws(Rejection) {
                let form = Substitution.form(try codec.payload(from: content, for: options), locale: words.locale)
                forms.append(form)
                user = values?.largest(in: form.places)
                let bytes = values.flatMap { $0.payload(of: form, for: user) } ?? form.payload
                let limit = codec.payloadLimit(of: options.type)
                guard bytes.count <= limit else {
                    throw Rejection(
                        .payloadTooLarge, detail: "\(bytes.count) bytes; \(options.type.word) allows \(limit)")
                }
                let one = try self.judged(bytes, for: options, codec: codec, index: &index)
                if judged.map({ $0.findings.isEmpty && !one.findings.isEmpty }) ?? true { judged = one }
            } catch {
                let reader = user.flatMap { values?.values.users[$0] }.map { " (for \(shown($0)))" } ?? ""
                throw Rejection(error.reason, detail: "\(words.pointer)\(reader): \(error.detail)")
            }
        }
        guard let first = forms.first, let judged else { throw Rejection(.badField, detail: "alert: it has no words") }
        var wording: Wording?
        if forms.count > 1 || values?.names.isEmpty == false {
            wording = Wording(forms, values: values?.values)
            guard wording != nil else { throw Rejection(.badField, detail: "alert: its words do not fit together") }
        }
        return JudgedPayload(first, in: wording, kind: judged.kind, findings: judged.findings)
    }
}
