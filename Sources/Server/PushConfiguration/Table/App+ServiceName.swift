extension Configuration.App {
    /// The name of the push service, as it is written in the file.
    package var serviceName: String { AppDraft(self).service.rawValue }
}
