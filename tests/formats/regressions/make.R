# Writes what R prints of regressions on records.csv, and broom's tables; see make.py.
library(survival)
library(broom)
options(width = 120)
data <- read.csv("records.csv", stringsAsFactors = TRUE)
data$bmi[1:4] <- NA
printed <- function(name, model) {
  text <- capture.output(print(summary(model)))
  writeLines(gsub("[\u2018\u2019]", "'", text), paste0(name, ".txt"))
}
linear <- lm(cost ~ age + bmi + sex + town, data = data)
logistic <- glm(ill ~ age + sex + town + treated, family = binomial, data = data)
poisson_ <- glm(visits ~ age * treated + I(age^2), family = poisson, data = data)
cox <- coxph(Surv(time, status) ~ age + sex + treated, data = data)
printed("r_lm", linear)
printed("r_logit", logistic)
printed("r_poisson", poisson_)
printed("r_probit", glm(ill ~ age + factor(town), family = binomial(link = "probit"), data = data))
printed("r_quasi", glm(visits ~ age + treated, family = quasipoisson, data = data))
printed("r_weighted", lm(cost ~ sex, weights = age, data = data))
printed("r_singular", lm(cost ~ age + I(2 * age) + sex, data = data))
printed("r_separated", suppressWarnings(glm(I(age > 45) ~ age, family = binomial, data = data)))
printed("r_saturated", lm(cost ~ factor(age), data = data[!duplicated(data$age), ]))
printed("r_cox", cox)
printed("r_cox_robust", coxph(Surv(time, status) ~ age + sex + treated + cluster(town), data = data))
below <- function(name, ...) {
  text <- capture.output(print(summary(cox)), ...)
  writeLines(gsub("[\u2018\u2019]", "'", text), paste0(name, ".txt"))
}
below("r_cox_hazard", print(basehaz(cox)))
below("r_cox_curve", print(summary(survfit(cox), times = c(100, 200, 300))))
stratified <- coxph(Surv(time, status) ~ age + strata(sex), data = data)
writeLines(gsub("[\u2018\u2019]", "'", capture.output(print(summary(stratified)), print(basehaz(stratified)))), "r_cox_strata.txt")
# Robust errors are what such tables are printed for, and no line says so.
robust <- function(fit) {
  x <- model.matrix(fit)
  u <- x * (fit$y - fitted(fit))
  vcov(fit) %*% crossprod(u) %*% vcov(fit)
}
coeftests <- list(coeftest = lmtest::coeftest(logistic), coeftest_robust = lmtest::coeftest(logistic, robust))
for (name in names(coeftests)) {
  text <- capture.output(print(coeftests[[name]]))
  writeLines(gsub("[\u2018\u2019]", "'", text), paste0(name, ".txt"))
}
write.csv(tidy(logistic), "broom_logit.csv", row.names = FALSE)
write.csv(tidy(logistic, conf.int = TRUE, exponentiate = TRUE), "broom_ratios.csv", row.names = FALSE)
write.csv(tidy(cox), "broom_cox.csv", row.names = FALSE)
interval <- data.frame(term = names(coef(logistic)), estimate = coef(logistic), confint.default(logistic))
names(interval) <- c("term", "estimate", "conf.low", "conf.high")
write.csv(interval, "broom_interval.csv", row.names = FALSE)
answers <- data.frame(
  r_lm = predict(linear, data), r_logit = predict(logistic, data, type = "response"),
  r_poisson = predict(poisson_, data, type = "response"), r_cox = exp(drop(as.matrix(
    cbind(data$age, data$sex == "male", data$treated)) %*% coef(cox)))
)
write.csv(answers, "predicted_r.csv", row.names = FALSE)

# No program that writes a GeneralRegressionModel was available: these two hold R's coefficients as the specification
# of PMML 4.4 lays them out.
fields <- '  <DataDictionary>
    <DataField name="age" optype="continuous" dataType="double"/>
    <DataField name="sex" optype="categorical" dataType="string"><Value value="female"/><Value value="male"/></DataField>
    <DataField name="treated" optype="continuous" dataType="double"/>
    <DataField name="ill" optype="categorical" dataType="integer"><Value value="0"/><Value value="1"/></DataField>
    <DataField name="time" optype="continuous" dataType="double"/>
    <DataField name="status" optype="continuous" dataType="double"/>
  </DataDictionary>'
general <- function(name, head, target, b, covariances, tables) {
  p <- paste0("p", seq_along(b) - 1)
  cells <- c('      <PPCell value="1" predictorName="age" parameterName="%s"/>',
             '      <PPCell value="male" predictorName="sex" parameterName="%s"/>',
             '      <PPCell value="1" predictorName="treated" parameterName="%s"/>')
  last <- tail(p, 3)
  rows <- expand.grid(row = seq_along(b), column = seq_along(b))
  writeLines(c(
    '<?xml version="1.0" encoding="UTF-8"?>', '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">', '  <Header/>', fields,
    sprintf('  <GeneralRegressionModel functionName="%s">', head),
    '    <MiningSchema>', sprintf('      <MiningField name="%s" usageType="target"/>', target),
    '      <MiningField name="age"/>', '      <MiningField name="sex"/>', '      <MiningField name="treated"/>', '    </MiningSchema>',
    '    <ParameterList>', sprintf('      <Parameter name="%s"/>', p), '    </ParameterList>',
    '    <FactorList><Predictor name="sex"/></FactorList>',
    '    <CovariateList><Predictor name="age"/><Predictor name="treated"/></CovariateList>',
    '    <PPMatrix>', mapply(sprintf, cells, last), '    </PPMatrix>',
    if (covariances) c('    <PCovMatrix type="model">', sprintf('      <PCovCell pRow="%s" pCol="%s" value="%.17g"/>',
      p[rows$row], p[rows$column], attr(b, "covariance")[as.matrix(rows)]), '    </PCovMatrix>'),
    '    <ParamMatrix>', sprintf('      <PCell %sparameterName="%s" df="1" beta="%.17g"/>',
      if (target == "ill") 'targetCategory="1" ' else "", p, b), '    </ParamMatrix>', tables,
    '  </GeneralRegressionModel>', '</PMML>'
  ), paste0(name, ".pmml"))
}
small <- glm(ill ~ age + sex + treated, family = binomial, data = data)
general("general_logit", 'classification" modelType="generalizedLinear" distribution="binomial" linkFunction="logit" targetReferenceCategory="0',
        "ill", structure(coef(small), covariance = vcov(small)), TRUE, character())
hazard <- basehaz(cox, centered = FALSE)
hazard <- hazard[c(TRUE, diff(hazard$hazard) > 0), ]
general("general_cox", 'regression" modelType="CoxRegression" endTimeVariable="time" statusVariable="status', "time", coef(cox), FALSE, c(
  '    <BaseCumHazardTables maxTime="500">', sprintf('      <BaselineCell time="%g" cumHazard="%.10g"/>', hazard$time, hazard$hazard),
  '    </BaseCumHazardTables>'))
